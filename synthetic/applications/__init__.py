"""Problems that people solve: robust learning, fairness, average precision, invariance, meta learning, one's own."""
