"""Start-up: processor time of commands that answer at once, in interleaved pairs with an interpreter that does nothing.

    python benchmarks/start_up.py [--pairs 20] [--beside FOLDER]

FOLDER holds another version of the package, as a folder or a link called `fedco`; its commands take turns with this version's.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import statistics
import subprocess
import sys
from pathlib import Path

import fedco

VALUES = "C_f=1 C_g=1 L_f=1 L_g=1 sigma_f=1 sigma_g=1 delta_g=1 F_gap=1"
POINT = f"{VALUES} alpha=5 beta=1/100 gamma=5 eta=1/100 p=2 T=100000"
META = "B=3 F_gap=1/2 L=9/2 alpha=1/1000 gamma_G=7/4 gamma_H=10 n=5 nu=2 r=1 rho=7 sigma_G=24/5 sigma_H=14"
META_KAPPA = f"{META} kappa_G=17/6 kappa_H=26/5"


def command(name: str, theorem: str, statement: str, values: str, *more: str) -> list[str]:
    sets = [part for value in values.split() for part in ("--set", value)]
    return ["-m", "fedco", name, theorem, "--statement", statement, *sets, *more]


COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "python -c 'import sympy'": ["-c", "import sympy"],
    "fedco bound local_scgdm.theorem_3_4": command("bound", "local_scgdm.theorem_3_4", "printed", POINT),
    **{
        f"fedco tune meta_fl.theorem_8, {kind}": command("tune", "meta_fl.theorem_8", kind, values, "--eps", eps)
        for kind, values, eps in (
            ("printed", f"{META_KAPPA} c=1", "1"),
            ("corrected", META, "1"),
            ("proved", META_KAPPA, "0.393"),
        )
    },
    **{f"fedco {name}": ["-m", "fedco", name] for name in ("audit", "problems", "algorithms")},
}


def seconds(arguments: list[str], path: Path) -> float:
    """Processor seconds of one process, its start and its end included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": str(path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--beside", type=Path, help="a folder in which another version is called fedco")
    chosen = parser.parse_args()
    here = Path(fedco.__file__).parent.parent
    runs = {name: (arguments, here) for name, arguments in COMMANDS.items()}
    if chosen.beside:
        runs |= {f"{n}, beside": (a, chosen.beside) for n, a in COMMANDS.items() if n.startswith("fedco")}
    for arguments, path in runs.values():  # compiled files are written once, and are not part of what is measured
        seconds(arguments, path)
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(chosen.pairs):
        for name, (arguments, path) in runs.items():
            taken[name].append(seconds(arguments, path))
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {chosen.pairs} pairs"
    )
    nothing = taken["python -c pass"]
    print("| command | processor s, median | least | less `python -c pass`, median of the pairs |\n|---|---|---|---|")
    for name, times in taken.items():
        more = statistics.median(a - b for a, b in zip(times, nothing, strict=True))
        print(f"| {name} | {statistics.median(times):.3f} | {min(times):.3f} | {more:.3f} |")


if __name__ == "__main__":
    main()
