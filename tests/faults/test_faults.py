"""A short form of the fault campaign; `make faults` runs it whole, and docs/reliability.md has its table."""

import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import fault_campaign as campaign
from fedco import storage

JOB = "run"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faults")
    status, told = campaign.finish(campaign.start(JOB, folder / "undisturbed"))
    assert status == 0, told
    return folder


@pytest.fixture
def case(place, request):
    folder = place / request.node.name.replace("[", "_").strip("]")
    folder.mkdir()
    return folder


def test_a_run_killed_at_a_write_goes_on_to_the_same_bits(place, case):
    assert campaign.kill_at_write(JOB, case, campaign.contents(place / "undisturbed"), 2, "before") == "same bits"


@pytest.mark.slow
def test_a_flipped_bit_is_made_good(place, case):
    whole = campaign.contents(place / "undisturbed")
    name = next(name for name in whole if name.endswith(".npz"))
    assert campaign.damage(JOB, case, whole, name, "flipped", random.Random(3)) == "same bits"


def test_the_campaign_notices_half_a_file(place, case):
    whole = campaign.contents(place / "undisturbed")
    (case / "run.json").write_bytes(whole["run.json"][:-40])
    with pytest.raises(ValueError):
        campaign.check_names(case, whole)
    (case / "run.json").write_bytes(whole["run.json"].replace(b'"T": 200', b'"T": 201'))
    with pytest.raises(storage.DamagedError):
        campaign.check_names(case, whole)
    (case / "run.json").write_bytes(whole["run.json"])
    campaign.check_names(case, whole)
    for name in ("runs.csv", next(name for name in whole if name.endswith(".npz"))):
        (case / name).parent.mkdir(exist_ok=True)
        (case / name).write_bytes(whole[name][:-1])
        with pytest.raises((campaign.Wrong, storage.DamagedError)):
            campaign.check_names(case, whole)
        (case / name).unlink()
    with pytest.raises(campaign.Wrong):
        campaign.says_one_line(1, "Traceback (most recent call last):\nKeyError: 'x'")
