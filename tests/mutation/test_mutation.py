"""A short form of the mutation campaign; `make mutation` runs it whole, and docs/reliability.md has its table."""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import mutation_campaign as campaign
from mutants import mutants

CAMPAIGN = str(Path(campaign.__file__))
SOURCE = """
def slack(value: int = 3, limit=2):
    '''Words, 1 + 1.'''
    if value < limit and not value:
        raise ValueError(f"{value + 1} is too large")
    return limit - value**2 + max(0, value)
"""


def test_each_kind_of_change_is_made_once():
    found = mutants("a.py", SOURCE)
    assert [mutant.change for mutant in found] == [
        "value < limit and (not value) -> not (value < limit and (not value))",
        "value < limit and (not value) -> value < limit or not value",
        "value < limit -> value <= limit",
        "not value -> value",
        "raise ValueError(f'{value + 1} is too large') -> pass",
        "limit - value ** 2 + max(0, value) -> limit - value ** 2 - max(0, value)",
        "limit - value ** 2 -> limit + value ** 2",
        "value ** 2 -> value * 2",
        "2 -> 3",
        "max(0, value) -> min(0, value)",
        "0 -> 1",
        "3 -> 4",
        "2 -> 3",
    ]
    assert len({mutant.name for mutant in found}) == len(found)
    for mutant in found:
        compile(mutant.source, "a.py", "exec")
        assert mutant.source != SOURCE and mutant.source.count("\n") == SOURCE.count("\n")


def test_a_share_and_its_interval():
    low, high = campaign.wilson(19, 20)  # (0.95 + z^2/40 -+ z sqrt(0.95*0.05/20 + z^2/1600)) / (1 + z^2/20), z = 1.96
    assert (round(low, 3), round(high, 3)) == (0.764, 0.991)
    assert campaign.wilson(0, 0) == (0.0, 1.0) and campaign.wilson(5, 5)[1] == 1.0


def test_every_explanation_is_of_a_mutant_that_there_is():
    explained = campaign.explanations()
    files = {name.partition("::")[0] for name in explained}
    assert explained.keys() <= {
        mutant.name for file in files for mutant in mutants(file, (campaign.ROOT / file).read_text())
    }


@pytest.mark.parametrize("each", [3, 0], ids=["with its tests", "without"])
def test_a_sample_is_killed_by_its_tests_and_by_nothing_else(each, tmp_path):
    kept, each = each > 0, each or 1
    nothing = tmp_path / "test_nothing.py"
    nothing.write_text("def test_nothing():\n    import fedco.storage\n")
    tests = "tests/storage/test_storage.py" if kept else str(nothing)
    sampled = ["--room", "storage.py", "--each", str(each), "--tests", tests]
    done = subprocess.run([sys.executable, CAMPAIGN, *sampled], capture_output=True, text=True, timeout=600)
    row = next(line for line in done.stdout.splitlines() if line.startswith("| `storage.py`"))
    tried, killed, explained, survived = (int(part) for part in row.split("|")[2:6])
    assert tried == each and done.returncode == int(survived > 0)
    assert killed + explained == each if kept else killed == 0, done.stdout
