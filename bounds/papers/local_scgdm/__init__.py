"""Gao, Li, Huang: local stochastic compositional gradient descent with momentum (ICML 2022)."""
