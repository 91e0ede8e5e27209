"""Statistics of a verdict: e-values, the alpha ledger, planning, slopes, calibration."""
