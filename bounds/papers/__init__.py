"""One folder per paper key, the same file names in each. A folder that is not named in `ORDER` is found all the same."""

from pkgutil import iter_modules

ORDER = ("local_scgdm", "comfedl", "fcsg", "fcsg_m", "acc_fcsg_m", "meta_fl", "feddro", "baselines")
"""How lists and tables are ordered."""


def built_in_keys() -> tuple[str, ...]:
    """The keys of the built-in papers in the order of lists and tables; a folder that `ORDER` does not name comes last."""
    found = {module.name for module in iter_modules(__path__) if module.ispkg}
    return tuple(sorted(found, key=lambda key: (ORDER.index(key) if key in ORDER else len(ORDER), key)))
