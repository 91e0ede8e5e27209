"""What only a reader finds: one file per paper, each finding with a check that reruns it from scratch."""
