"""1e5 lanes in dimension 100 fit in 4 GiB, and a longer run takes no more memory than a short one."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "memory.py"


@pytest.mark.slow
def test_a_hundred_thousand_lanes_fit_in_four_gibibytes_whatever_the_number_of_steps():
    """The script ends with an error when the peak exceeds 4 GiB or grows with the steps; its numbers are checked too.

    Twenty steps are several rounds and records: after five the heap has not yet been through all that a run asks of it.
    """
    done = subprocess.run([sys.executable, str(BENCHMARK), "--steps", "20", "100"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout
    peaks = [float(line.split("peak ")[1].split(" GiB")[0]) for line in done.stdout.splitlines() if "peak" in line]
    one_model_tensor = 100_000 * 100 * 8 / 2**30
    assert len(peaks) == 2 and all(one_model_tensor < peak < 4 for peak in peaks)
