"""`--version`, `-h`, and what the shell completes."""

from __future__ import annotations

import subprocess
import sys

from in_process import run


def test_version_and_help(capsys, monkeypatch):
    assert run(capsys, monkeypatch, "--version")[:2] == (0, "fedco 0.1.0\n")
    assert run(capsys, monkeypatch, "-h")[1] == run(capsys, monkeypatch, "--help")[1]
    assert "Usage" in run(capsys, monkeypatch, "bound", "-h")[1]


def test_completion_is_quick_and_knows_ids_problems_and_methods():
    code = (
        "import sys\n"
        "from fedco.cli.completion import method_names, problem_names, theorem_ids\n"
        "print(theorem_ids('fedd'), theorem_ids('fc'), theorem_ids('fcsg.th'), method_names('fedd'), problem_names('feddro_no'))\n"
        "print(sorted({'torch', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    ids, heavy = done.stdout.splitlines()
    assert "'feddro.theorem_5_1'" in ids and "['fcsg.', 'fcsg_m.']" in ids and "['fcsg.theorem_4_1']" in ids
    assert "['feddro']" in ids and "'feddro_noisy'" in ids and heavy == "[]"
