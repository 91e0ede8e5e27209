"""A short form of the fault campaign; `make faults` runs it whole, and docs/reliability.md has its table."""

import random
import signal

import fault_campaign as campaign
import pytest
from fedco import storage

JOB = "run"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("faults")


@pytest.fixture(scope="module")
def whole(place):
    return campaign.undisturbed(JOB, place / "undisturbed")


@pytest.fixture
def case(place, request):
    folder = place / request.node.name.replace("[", "_").strip("]")
    folder.mkdir()
    return folder


@pytest.mark.parametrize("at", [1, 2])
def test_a_run_killed_at_a_write_goes_on_to_the_same_bits(whole, case, at):
    assert campaign.kill_at_write(JOB, case, whole, at, "before") == "same bits"


def test_a_flipped_bit_is_made_good(whole, case):
    name = next(name for name in whole.files if name.endswith(".npz"))
    assert campaign.damage(JOB, case, whole, name, "flipped", random.Random(3)) == "same bits"


def test_two_processes_in_one_folder_leave_the_same_bits(whole, case):
    assert campaign.together(JOB, case, whole, 2) == "same bits"


def test_a_file_that_may_not_grow_is_one_line(whole, case):
    assert campaign.file_size_limit(JOB, case, whole, 200) == "one line"


def test_an_interrupted_run_goes_on(whole, case):
    assert campaign.interrupted(JOB, case, whole, random.Random(1), signal.SIGINT) == "same bits"


def test_a_closed_pipe_is_no_traceback(whole, case):
    assert campaign.nobody_reads(JOB, case, whole, ()) == "same bits"


def test_the_campaign_notices_half_a_file(whole, case):
    (case / "run.json").write_bytes(whole.files["run.json"][:-40])
    with pytest.raises(ValueError):
        campaign.check_names(case, whole)
    (case / "run.json").write_bytes(whole.files["run.json"].replace(b'"T": 200', b'"T": 201'))
    with pytest.raises(storage.DamagedError):
        campaign.check_names(case, whole)
    (case / "run.json").write_bytes(whole.files["run.json"])
    campaign.check_names(case, whole)
    for name in ("runs.csv", next(name for name in whole.files if name.endswith(".npz"))):
        (case / name).parent.mkdir(exist_ok=True)
        (case / name).write_bytes(whole.files[name][:-1])
        with pytest.raises((campaign.Wrong, storage.DamagedError)):
            campaign.check_names(case, whole)
        (case / name).unlink()


def test_the_campaign_notices_what_is_no_answer(whole, case):
    for status, told in (
        (1, "Traceback (most recent call last):\nKeyError: 'x'"),
        (2, ""),
        (0, "fedco: all is well"),
        (2, "fedco: a\nfedco: b\nfedco: c"),
        (2, "fedco: something cannot be written"),
    ):
        with pytest.raises(campaign.Wrong):
            campaign.says_one_line(status, told, case)
    campaign.says_one_line(2, f"fedco: {case}/run.json: cannot be written", case)
    with pytest.raises(campaign.Wrong, match="other bits"):
        campaign.check_bits(case, whole)
