"""Jamali, Saber, Bae: generalised meta federated learning with several fine-tuning steps."""
