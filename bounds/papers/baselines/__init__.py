"""Our own: what Local SGD, minibatch SGD, SCGD and biased SGD achieve, derived in docs/theory/baselines.md."""
