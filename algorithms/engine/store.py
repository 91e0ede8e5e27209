"""Tensors and their JSON description in one file, kept as `fedco.storage` keeps everything."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ... import storage


def write(path: str | Path, tensors: Mapping[str, Tensor], description: Mapping[str, Any]) -> None:
    """Replace the file ``path`` by these tensors and their description, atomically and durably."""
    storage.write_arrays(path, {name: tensor.cpu().numpy() for name, tensor in tensors.items()}, description)


def read(path: str | Path, device: torch.device | str = "cpu") -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the description that ``write`` left at ``path``.

    Raises:
        DamagedError: when the file is not one that ``write`` made.
    """
    arrays, description = storage.read_arrays(path)
    return {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}, description
