"""A problem of one's own, made of torch functions."""
