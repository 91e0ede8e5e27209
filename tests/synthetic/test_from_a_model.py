"""docs/howto/from-a-model-to-a-schedule.md runs as it stands."""

import re
from pathlib import Path

import fedco
import pytest

PAGE = Path(fedco.__file__).parent / "docs" / "howto" / "from-a-model-to-a-schedule.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.slow
def test_the_page_runs(capsys):
    pytest.importorskip("sklearn")
    names: dict[str, object] = {"__name__": "page"}
    for number, block in enumerate(BLOCKS, start=1):
        exec(compile(block, f"{PAGE.name}, block {number}", "exec"), names)
    printed = capsys.readouterr().out
    assert len(BLOCKS) == 10 and "times as much" in printed and "No proof" in printed
