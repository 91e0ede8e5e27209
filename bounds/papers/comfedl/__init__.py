"""Huang, Li, Huang: compositional federated learning (2021). Here f is the inner function and g the outer."""
