"""The wheel of this checkout in an environment of its own, away from the repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import fedco

ROOT = Path(fedco.__file__).parent
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "docs", "tests", "benchmarks", "build", "*.egg-info")
OFFLINE = ("--no-deps", "--no-index", "--quiet", "--disable-pip-version-check")


def install(top: Path) -> None:
    """An environment `top/environment` that has the wheel and borrows its dependencies here."""
    shutil.copytree(ROOT, top / "source", ignore=LEFT_OUT)
    shutil.copytree(ROOT / "docs" / "reproduced", top / "source" / "docs" / "reproduced")
    pip(sys.executable, "wheel", *OFFLINE, "--no-build-isolation", "--wheel-dir", str(top), str(top / "source"))
    venv.create(top / "environment", with_pip=False)
    (packages,) = (top / "environment" / "lib").glob("python*/site-packages")
    (packages / "borrowed.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    (wheel,) = top.glob("fedco-*.whl")
    pip(
        str(top / "environment" / "bin" / "python"),
        "install",
        "--ignore-installed",
        "--no-compile",
        *OFFLINE,
        str(wheel),
    )
    shutil.rmtree(top / "source")


def work_beside(installed: Path, top: Path) -> Path:
    """A folder with the examples, which tests may write to, beside the environment and the wheel, which they only read."""
    for item in (installed / "environment", *installed.glob("fedco-*.whl")):
        (top / item.name).symlink_to(item)
    return Path(shutil.copytree(ROOT / "examples", top / "work", ignore=LEFT_OUT))


def pip(python: str, *arguments: str) -> None:
    done = subprocess.run([python, "-m", "pip", *arguments], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def run(folder: Path, program: str, *arguments: str) -> str:
    """What a program of the environment prints; nothing of this checkout is on its path."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [str(folder.parent / "environment" / "bin" / program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=variables, timeout=600, check=False)
    assert done.returncode == 0, f"{' '.join(arguments)[:200]}\n{done.stdout[-9000:]}{done.stderr[-2000:]}"
    return done.stdout
