"""What an answer does not need is not imported: many answers in one process, those without sympy in another."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

CONSTANTS = "L_f=1, L_g=1, S_f=1, S_g=1"
STEP, POINT = ("fcsg.theorem_4_1", "--statement", "printed"), ("alpha=1/100", "q=2", "m=4", "N=4", "T=100")
GIVEN = ("L_f=1", "L_g=1", "S_f=1", "S_g=1", "sigma_g=1", "F_gap=1")
SETS = [part for value in (*GIVEN, *POINT) for part in ("--set", value)]
HEAVY = ("torch", "cvxpy", "matplotlib", "hypothesis", "fedco.synthetic", "fedco.algorithms.engine.method")
WITHOUT_SYMPY = [
    ("vocabulary", "import fedco.bounds.language.quantities as q; assert q.QUANTITIES", ("sympy", *HEAVY)),
    ("audit list", "import fedco.bounds.audit.make_audit_cache as kept; assert kept.findings()", ("sympy", *HEAVY)),
]
ANSWERS = [
    ("methods", "import fedco.algorithms.registry as r; assert len(r.listed()) >= 21", HEAVY),
    ("algorithms", "assert len(command('algorithms')['algorithms']) >= 21", HEAVY),
    (
        "best hyperparameters",
        f"""
import fedco
theorem = fedco.theorem("fcsg.theorem_4_1")
theorem.admissible(("alpha", "q"), "printed", {CONSTANTS})
theorem.tune({CONSTANTS}, sigma_g=1, F_gap=1, N=4, budget={{"samples": 1000}})
""",
        ("scipy", "numpy.f2py", *HEAVY),
    ),
    ("admissible", f"assert command('admissible', *{STEP!r}, '--solve', 'T', *{SETS[:-2]!r})['feasible']", HEAVY),
    ("bound", f"assert command('bound', *{STEP!r}, *{SETS!r})['total']", HEAVY),
    ("audit", "assert command('audit', 'feddro.theorem_4_1')['findings']", HEAVY),
    (
        "proof",
        """
from fedco.bounds import get_theorem
from fedco.bounds.proof.locks import prove
prove(get_theorem("baselines.minibatch_sgd"), note=str)
""",
        HEAVY,
    ),
    ("figures", "import fedco.figures", ("torch", "matplotlib")),
    (
        "completion",
        """
from fedco.cli.options import method_names, problem_names, theorem_ids
assert theorem_ids("fcsg.th") == ["fcsg.theorem_4_1"] and method_names("fedd") and problem_names("feddro_no")
""",
        HEAVY,
    ),
    ("problems", "assert len(command('problems')['problems']) >= 21", HEAVY),
]
PROGRAM = """
import contextlib, io, json, sys

def command(*arguments):
    from fedco.cli import main
    sys.argv = ["fedco", *arguments, "--json"]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            main()
        except SystemExit as stop:
            assert not stop.code, arguments
    return json.loads(printed.getvalue())

found = {}
for name, program, unwanted in json.loads(sys.argv[1]):
    exec(program, {"command": command})
    found[name] = [module for module in unwanted if module in sys.modules]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def imported() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for answers in (WITHOUT_SYMPY, ANSWERS):
        command = [sys.executable, "-W", "ignore", "-c", PROGRAM, json.dumps(answers)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found |= json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", [name for name, _, _ in (*WITHOUT_SYMPY, *ANSWERS)])
def test_what_is_not_needed_is_not_imported(imported, name):
    assert imported[name] == []
