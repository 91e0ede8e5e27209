"""One folder per paper key, the same file names in each. A folder that is not named in `ORDER` is found all the same."""

ORDER = ("local_scgdm", "comfedl", "fcsg", "fcsg_m", "acc_fcsg_m", "meta_fl", "feddro", "baselines")
"""How lists and tables are ordered."""
