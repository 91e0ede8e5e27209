"""Arrays and their description in one file: no pickle, and never half a file.

The file is a NumPy ``.npz`` archive; the description is JSON inside it, so that one rename replaces both at once. A
process that is killed while writing leaves the previous file untouched.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

_DESCRIPTION = "description.json"


def write(path: str | Path, arrays: Mapping[str, Tensor], description: Mapping[str, Any]) -> None:
    """Replace the file ``path`` by these arrays and their JSON description, atomically and durably."""
    path = Path(path)
    text = np.frombuffer(json.dumps(description).encode(), dtype=np.uint8)
    temporary = path.with_name(path.name + ".part")  # one writer per path; what a killed one left is overwritten
    with open(temporary, "wb") as file:
        numbers: dict[str, Any] = {name: array.cpu().numpy() for name, array in arrays.items()}
        numbers[_DESCRIPTION] = text
        np.savez(file, **numbers)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def read(path: str | Path, device: torch.device | str = "cpu") -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The arrays and the description that ``write`` left at ``path``.

    Raises:
        ValueError: when the file is not one that ``write`` made.
    """
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            description = json.loads(archive[_DESCRIPTION].tobytes())
            names = [name for name in archive.files if name != _DESCRIPTION]
            arrays = {name: torch.from_numpy(archive[name]).to(device) for name in names}
    except (KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is not a checkpoint or result of fedco: {error}") from error
    return arrays, description
