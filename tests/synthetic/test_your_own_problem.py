"""docs/howto/your-own-problem.md runs as it stands, and nothing that rests on an estimate can be SUPPORTED."""

import re
from pathlib import Path

import fedco
from fedco.validation.statistics.verdict import Outcome, judge, judge_exact, weakest_certificate
from hypothesis import given, settings
from hypothesis import strategies as st

PAGE = Path(fedco.__file__).parent / "docs" / "howto" / "your-own-problem.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_page_runs(capsys):
    names: dict[str, object] = {"__name__": "page"}
    for number, block in enumerate(BLOCKS, start=1):
        exec(compile(block, f"{PAGE.name}, block {number}", "exec"), names)
    printed = capsys.readouterr().out
    assert len(BLOCKS) == 8
    assert "estimated: points tried within about 1.5 of 0" in printed
    assert names["verdict"] != "SUPPORTED"
    assert "INCONCLUSIVE" in str(names["verdict"])


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
