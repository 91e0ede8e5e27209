"""Wu et al.: federated conditional stochastic optimization (NeurIPS 2023), Algorithm 1 with momentum."""
