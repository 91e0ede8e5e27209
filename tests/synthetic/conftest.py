"""Lets the tests of this folder import their own helpers: with importlib imports pytest does not do so."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
