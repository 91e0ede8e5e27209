"""Khanduri et al.: FedDRO, federated compositional optimisation for distributionally robust learning."""
