"""Pages of the guide about problems and models run as they stand, and nothing that rests on an estimate can be SUPPORTED."""

import re
from dataclasses import fields
from pathlib import Path

import fedco
import pytest
from fedco.synthetic.models import FORMS
from fedco.validation.statistics.verdict import Outcome, judge, judge_exact, weakest_certificate
from hypothesis import given, settings
from hypothesis import strategies as st

GUIDE = Path(fedco.__file__).parent / "docs" / "howto"
MODELS = (GUIDE / "from-a-model-to-a-schedule.md").read_text(encoding="utf-8")


def run(page, blocks):
    """The names that the blocks of a page make, one after another."""
    found = re.findall(r"```python\n(.*?)```", (GUIDE / page).read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, object] = {"__name__": "page"}
    for number, block in enumerate(found, start=1):
        exec(compile(block, f"{page}, block {number}", "exec"), names)
    assert len(found) == blocks
    return names


@pytest.mark.slow
def test_the_page_on_models_runs(capsys, monkeypatch, tmp_path):
    pytest.importorskip("sklearn")
    monkeypatch.chdir(tmp_path)
    run("from-a-model-to-a-schedule.md", blocks=12)
    printed = capsys.readouterr().out
    assert "times as much" in printed and "No proof" in printed


def test_the_page_on_your_own_problem_runs(capsys):
    names = run("your-own-problem.md", blocks=8)
    assert "estimated: points tried within about 1.5 of 0" in capsys.readouterr().out
    assert names["verdict"] != "SUPPORTED" and "INCONCLUSIVE" in str(names["verdict"])


def test_the_table_of_the_page_on_models_is_that_of_the_forms():
    """Every form with its kind and its numbers; a theorem of the kind, and a file of the form, where one is named."""
    rows = [
        [cell.strip().replace("`", "") for cell in line.split("|")[1:-1]]
        for line in MODELS.splitlines()
        if line.startswith("| `")
    ]
    assert [row[0] for row in rows[1:]] == list(FORMS)
    for form, kind, _, numbers, theorem, file in rows[1:]:
        made = FORMS[form]
        wanted = [item.name for item in fields(made) if item.name not in ("parts", "tune_steps", "tune_rate")]
        assert kind == made.kind and sorted(filter(None, numbers.split(", "))) == sorted(wanted), form
        assert not theorem or fedco.theorem(theorem).problem == kind
        if file:
            said = (GUIDE.parents[1] / file).read_text(encoding="utf-8")
            assert f'"form": "{form}"' in said or (form == "federated" and '"form"' not in said)
            assert theorem in said


KINDS = st.lists(st.sampled_from(["exact", "upper"]), max_size=3)


@settings(max_examples=25, derandomize=True)
@given(kinds=KINDS, position=st.integers(0, 3), bound=st.floats(0.01, 100.0), seeds=st.integers(1, 100))
def test_one_estimate_among_the_certificates_is_enough_to_forbid_supported(kinds, position, bound, seeds):
    """Zeros under any bound are the strongest support that data can give."""
    mixed = [*kinds[:position], "estimated", *kinds[position:]]
    assert weakest_certificate(mixed) == "estimated"
    verdict = judge([0.0] * seeds, bound, alpha=0.5, cap=2 * bound, certificates_kind=mixed)
    assert verdict.outcome is Outcome.INCONCLUSIVE and "estimated" in verdict.reason
    assert judge_exact(0, 1, certificates_kind=mixed, cap=2).outcome is Outcome.INCONCLUSIVE
    proved = judge([0.0] * 100, bound, alpha=0.5, cap=2 * bound, certificates_kind=kinds or ["exact"])
    assert proved.outcome is Outcome.SUPPORTED
