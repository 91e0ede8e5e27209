"""docs/howto/from-a-model-to-a-schedule.md runs as it stands."""

import re
from dataclasses import fields
from pathlib import Path

import fedco
import pytest
from fedco.synthetic.models import FORMS

PAGE = Path(fedco.__file__).parent / "docs" / "howto" / "from-a-model-to-a-schedule.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.slow
def test_the_page_runs(capsys, monkeypatch, tmp_path):
    pytest.importorskip("sklearn")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    for number, block in enumerate(BLOCKS, start=1):
        exec(compile(block, f"{PAGE.name}, block {number}", "exec"), names)
    printed = capsys.readouterr().out
    assert len(BLOCKS) == 12 and "times as much" in printed and "No proof" in printed


def test_the_table_of_the_page_is_that_of_the_forms():
    """Every form with its kind and its numbers; a theorem of the kind, and a file of the form, where one is named."""
    rows = [
        [cell.strip().replace("`", "") for cell in line.split("|")[1:-1]]
        for line in TEXT.splitlines()
        if line.startswith("| `")
    ]
    assert [row[0] for row in rows[1:]] == list(FORMS)
    for form, kind, _, numbers, theorem, file in rows[1:]:
        made = FORMS[form]
        wanted = [item.name for item in fields(made) if item.name not in ("parts", "tune_steps", "tune_rate")]
        assert kind == made.kind and sorted(filter(None, numbers.split(", "))) == sorted(wanted), form
        assert not theorem or fedco.theorem(theorem).problem == kind
        if file:
            said = (PAGE.parents[2] / file).read_text(encoding="utf-8")
            assert f'"form": "{form}"' in said or (form == "federated" and '"form"' not in said)
            assert theorem in said
