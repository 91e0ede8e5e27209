"""`--version`, `-h`, and what the shell completes."""

from __future__ import annotations

from in_process import run


def test_version_and_help(capsys, monkeypatch):
    assert run(capsys, monkeypatch, "--version")[:2] == (0, "fedco 0.1.0\n")
    assert run(capsys, monkeypatch, "-h")[1] == run(capsys, monkeypatch, "--help")[1]
    assert "Usage" in run(capsys, monkeypatch, "bound", "-h")[1]
