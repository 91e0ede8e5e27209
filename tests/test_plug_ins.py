"""Installed packages announce papers, methods, problems and kinds; a broken one is named and does not stop the others."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import fedco
import pytest
from fedco import user_files
from fedco.algorithms.registry import get_method, listed
from fedco.bounds import registry
from fedco.bounds.audit.checks import audit
from fedco.errors import InputError
from fedco.synthetic import problem
from fedco.synthetic.conformance.kinds import KINDS, get_kind
from fedco.user_files import CodeName

EXAMPLES = Path(fedco.__file__).parent / "examples"
GROUPS = {
    "papers": (
        "parallel_sgd = parallel_sgd:paper",
        "misnamed = parallel_sgd:paper",
        "broken = parallel_sgd:nothing",
        "number = half_sgd:Fraction",
    ),
    "methods": ("half_sgd = half_sgd:HalfSGD", "broken = no_such_module:Method", "number = half_sgd:Fraction"),
    "problems": ("ring = ring:problem", "rings = ring:Ring", "number = half_sgd:Fraction"),
    "kinds": ("rings = my_kind:RINGS", "number = half_sgd:Fraction"),
}


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """An installed package whose modules are the examples."""
    shutil.copytree(EXAMPLES, tmp_path / "modules", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "modules" / "my_kind.py").write_text(
        "from fedco.synthetic.conformance.kinds import KINDS\nRINGS = KINDS['federated']\n"
    )
    info = tmp_path / "modules" / "mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    lines = [line for group, entries in GROUPS.items() for line in (f"[fedco.{group}]", *entries)]
    (info / "entry_points.txt").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    forget()
    yield
    forget()


def forget() -> None:
    user_files.installed.cache_clear()
    registry.loaded.cache_clear()
    for name in ("parallel_sgd", "half_sgd", "ring", "my_kind"):
        sys.modules.pop(name, None)


def test_a_paper():
    assert {"parallel_sgd", "feddro"} <= set(registry.paper_keys())
    assert (
        registry.get_theorem("parallel_sgd.theorem_1")
        .bound("printed", L=1, sigma=1, F_gap=1, N=1, b=1, eta=1, T=2)
        .total
        == 2.0
    )
    assert len(registry.get_theorems("parallel_sgd")) == 3
    assert audit("parallel_sgd") == [] and audit("parallel_sgd.corollary_1") == []


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("broken", "by mine .*AttributeError"),
        ("number", "by mine .*wanted a Paper"),
        ("misnamed", "has the key 'parallel_sgd'"),
    ],
)
def test_a_broken_paper_is_named(key: str, reason: str):
    with pytest.raises(InputError, match=f"^{key}: announced in fedco.papers.*{reason}") as caught:
        registry.get_theorem(f"{key}.theorem_1")
    assert str(caught.value).isprintable()


def test_broken_papers_do_not_stop_the_others():
    with pytest.warns(UserWarning, match="announced in fedco.papers") as told:
        found = {paper.key for paper in registry.all_papers()}
    assert len(told) == 3 and {"parallel_sgd", "feddro"} <= found and not {"broken", "number", "misnamed"} & found


def test_methods():
    assert get_method("half_sgd").name == "half_sgd" and get_method("local_sgd").name == "local_sgd"
    assert get_method("half_sgd.py:HalfSGD", CodeName("half_sgd.py:HalfSGD", EXAMPLES)).name == "half_sgd"
    for name, reason in (("broken", "ModuleNotFoundError"), ("number", "derived from"), ("none", "not a method")):
        with pytest.raises(InputError, match=reason):
            get_method(name)


def test_a_broken_method_does_not_stop_the_others():
    with pytest.warns(UserWarning, match="^(broken|number): ") as told:
        assert {"half_sgd", "local_sgd"} <= set(listed())
    assert len(told) == 2


def test_problems():
    assert problem("ring").name == "ring" and problem("ring", sigma=0.0).sigma == 0
    assert problem("rings", clients=3).clients == 3
    assert problem(f"{EXAMPLES}/ring.py:problem", start=2.0).start == 2.0
    for name, more, reason in (
        ("number", {}, "has no kind"),
        ("ring", {"sigmas": 1}, "sigmas"),
        ("none", {}, "unknown problem"),
    ):
        with pytest.raises(InputError, match=reason):
            problem(name, **more)


def test_kinds():
    assert get_kind("rings") is KINDS["federated"]
    with pytest.raises(ValueError, match="kind must be one of"):
        get_kind("none")
    with pytest.raises(InputError, match="wanted a Kind"):
        get_kind("number")
