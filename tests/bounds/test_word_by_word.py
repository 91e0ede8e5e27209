"""One small theorem and one small answer in every medium, word by word: what a reader sees was read by a person once."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from math import inf, nan
from random import Random
from xml.etree import ElementTree

import pytest
from demonstration import PRINTED, THEOREM
from fedco.bounds.evaluation.evaluate import InadmissibleError
from fedco.bounds.language import rendering
from fedco.bounds.language.metrics import METRICS
from fedco.bounds.language.result import (
    AbstractResult,
    Math,
    Sheet,
    Table,
    finite,
    markdown_table,
    relative,
    rounded_down,
    rounded_up,
    shown,
    tex_number,
    to_frame,
    to_html,
    to_latex,
    to_markdown,
)
from in_a_notebook import html, latex
from refusal import is_refused

TEXT = r"""demo.theorem_1: A demonstration (demo, Theorem 1, eq. (7))
bounds (1/T) sum_t E||grad F(xbar_t)||^2  [[f]^2 [x]^-2]
  assumption smooth: every loss is smooth

printed:  (without its footnote)
  status: derived: term by term at least the corrected statement
  L                  largest Lipschitz constant of grad f_i  [[f] [x]^-2], positive real
  sigma              standard-deviation bound of the gradient of one sample  [[f] [x]^-1], nonnegative real
  F_gap              objective at the start minus its infimum  [[f]], nonnegative real
  eta                step size; the same for all clients  [[f]^-1 [x]^2], positive real
  T                  number of local iterations  [1], positive integer
  N                  number of clients  [1], positive integer
  where V = sigma**2/N
  if step_size: eta <= 1/L
  if horizon: T > 3
  unless set, eta = 1/(2*L)
  + initialisation: 2*F_gap/(T*eta)
  + first_noise: L*V*eta"""

LATEX = r"""% demo.theorem_1: A demonstration (demo, Theorem 1, eq. (7))
\noindent\textbf{Note.} It bounds (1/T) sum\_t E\textbar{}\textbar{}grad F(xbar\_t)\textbar{}\textbar{}\textasciicircum{}2, of dimension [f]\textasciicircum{}2 [x]\textasciicircum{}-2 (expected squared gradient norm, averaged over the iterates).\par
% assumptions
\par\medskip\noindent
\begin{tabular}{ll}
\hline
assumption & text \\
\hline
smooth & every loss is smooth \\
\hline
\end{tabular}

% demo.theorem_1, printed
\begin{align*}
\frac1T\sum_t\mathbb{E}\|\nabla F(\bar x_t)\|^2 &\le \underbrace{\frac{2 \Delta}{\eta T}}_{\text{initialisation}} \\
&\quad + \underbrace{\eta V L}_{\text{first noise}} \\
V &= \frac{\sigma^{2}}{N} \\
\eta &\le \frac{1}{L} \\
T &> 3
\end{align*}
% demo.theorem_1 (printed): symbols
% symbols
\par\medskip\noindent
\begin{tabular}{llll}
\hline
symbol & meaning & dimension & domain \\
\hline
$L$ & largest Lipschitz constant of grad f\_i & $[f] [x]^{-2}$ & positive real \\
$\sigma$ & standard-deviation bound of the gradient of one sample & $[f] [x]^{-1}$ & nonnegative real \\
$\Delta$ & objective at the start minus its infimum & $[f]$ & nonnegative real \\
$\eta$ & step size; the same for all clients & $[f]^{-1} [x]^{2}$ & positive real \\
$T$ & number of local iterations & $1$ & positive integer \\
$N$ & number of clients & $1$ & positive integer \\
\hline
\end{tabular}"""  # noqa: E501


def test_a_theorem_as_text_markdown_latex_and_data():
    assert rendering.to_text(THEOREM, ("printed",)) == TEXT
    both = rendering.to_text(THEOREM)
    assert (
        both.startswith(TEXT + "\n\ncorrected:\n  status: derived by its author") and "unless" not in both[len(TEXT) :]
    )
    assert THEOREM.to_latex("printed") == LATEX
    markdown = THEOREM.to_markdown()
    assert markdown.startswith(THEOREM.to_markdown("printed") + "\n\n**demo.theorem\\_1 (corrected)")
    for part in (
        r"**demo.theorem\_1: A demonstration (demo, Theorem 1, eq. (7))**",
        "| smooth     | every loss is smooth |",
        r"\bar x_t)\|^2 \le \frac{2 \Delta}{\eta T} + \eta V L",
        "> without its footnote",
        r"| first\_noise   | variance       | $\eta V L$                |",
        r"| step\_size | $\eta \le \frac{1}{L}$ | for the descent lemma |",
        r"| $V$    | $\frac{\sigma^{2}}{N}$ | variance of a mean |",
        r"| $\eta$   | step size; the same for all clients                    | $[f]^{-1} [x]^{2}$ | positive real    |",
    ):
        assert part in markdown
    corrected = THEOREM.to_latex().removeprefix(LATEX + "\n\n").splitlines()
    assert corrected[0] == "% demo.theorem_1 (corrected)" and corrected[1].startswith(
        r"\noindent\textbf{Note.} derived by"
    )
    data = rendering.describe(THEOREM, ("printed",))
    one = data.pop("statements")["printed"]
    assert data == {
        "theorem": "demo.theorem_1",
        "kind": "theorem",
        "title": "A demonstration",
        "source": "demo, Theorem 1, eq. (7)",
        "metric": "(1/T) sum_t E||grad F(xbar_t)||^2",
        "dimension": "[f]^2 [x]^-2",
        "assumptions": [{"name": "smooth", "text": "every loss is smooth", "formal": []}],
        "step_sizes": {},
    }
    assert (
        one["latex"] == LATEX[LATEX.index("% demo.theorem_1, printed") : LATEX.index("\n% demo.theorem_1 (printed): s")]
    )
    assert (one["status"], one["refuted_by"], one["derivation"], one["note"]) == (
        "derived",
        [],
        False,
        "without its footnote",
    )
    assert one["symbols"]["eta"] == {
        "quantity": "step_size",
        "meaning": "step size; the same for all clients",
        "dimension": "[f]^-1 [x]^2",
        "domain": "positive real",
        "role": "hyperparameter",
    }
    assert list(one["symbols"]) == ["L", "sigma", "F_gap", "eta", "T", "N"] and one["derived"] == {"V": "sigma**2/N"}
    assert one["conditions"][1] == {"name": "horizon", "relation": "T > 3", "note": ""}
    assert one["schedule"] == {"eta": "1/(2*L)"} and one["terms"]["first_noise"] == "L*V*eta"
    assert list(rendering.describe(THEOREM)["statements"]) == ["printed", "corrected"]


def test_a_theorem_as_html_has_every_part_once():
    page = ElementTree.fromstring(f"<div>{rendering.theorem_html(THEOREM)}</div>")
    assert [len(part.findall(".//details")) for part in page] == [0, 3, 3]  # all tables but the first are folded
    said = rendering.describe_statement(THEOREM.statement("printed"))
    assert {c["name"]: c["relation"].latex for c in said["conditions"]} == {
        "step_size": r"\eta \le \frac{1}{L}",
        "horizon": "T > 3",
    }
    assert {name.latex: formula.latex for name, formula in said["derived"].items()} == {"V": r"\frac{\sigma^{2}}{N}"}


def test_symbols_with_values():
    statement = THEOREM.statement("printed")
    every = rendering.symbol_table(statement, "all", {"L": 1, "eta": 2})
    assert [row[1:] for row in every.rows] == [
        ("largest Lipschitz constant of grad f_i", 1),
        ("step size; the same for all clients", 2),
    ]
    assert [row[2] for row in rendering.symbol_table(statement, "some", {"L": 1, "eta": 2}, "constant").rows] == [1]
    letters = [rendering.letter(statement, name).latex for name in ("F_gap", "V", "beta_2")]
    assert letters == [r"\Delta", "V", r"\beta_{2}"]
    assert rendering.titled(statement) == "demo.theorem_1 (printed)" and rendering.lines_about(None) == ()
    assert rendering.lines_about(THEOREM.statement("corrected")) == (
        "  derived by its author, not checked by the kernel",
    )


# --- an answer ------------------------------------------------------------------------------------------------------------

LONG = "a text of more than sixty characters, which wraps in a column of its own"
CELLS = Table(
    "two_rows",
    ("name_of", "value", "more", "empty", "said"),
    (("a&b", 0.5, Math("x^2", "x^{2}"), None, LONG), ("c<d", 2, True, "", Decimal("0.1"))),
)
SHEET = Sheet("A_title <1>", Math("x <= 1", r"x \le 1"), (CELLS, Table("second", ("n",), ((1e-7,),))), ("50% of it",))


def test_a_sheet_in_markdown_latex_and_html():
    assert to_markdown(SHEET).split("\n\n") == [
        r"**A\_title \<1\>**",
        "$$\nx \\le 1\n$$",
        "> 50% of it",
        "| name\\_of | value | more    | said" + " " * (len(LONG) - 4) + " |\n"
        "|----------|-------|---------|" + "-" * (len(LONG) + 2) + "|\n"
        f"| a&b      | $0.5$ | $x^{{2}}$ | {LONG} |\n"
        r"| c\<d     | $2$   | yes     | $0.10000000000000001$" + " " * (len(LONG) - 21) + " |",
        "| n         |\n|-----------|\n| $10^{-7}$ |",
    ]
    assert to_latex(SHEET).splitlines() == [
        "% A_title <1>",
        r"\[ x \le 1 \]",
        r"\noindent\textbf{Note.} 50\% of it\par",
        "% two_rows",
        r"\par\medskip\noindent",
        r"\begin{tabular}{lrlp{0.75\linewidth}}",
        r"\hline",
        r"name of & value & more & said \\",
        r"\hline",
        rf"a\&b & $0.5$ & $x^{{2}}$ & {LONG} \\",
        r"c\textless{}d & $2$ & yes & $0.10000000000000001$ \\",
        r"\hline",
        r"\end{tabular}",
        "% second",
        r"\par\medskip\noindent",
        r"\begin{tabular}{r}",
        r"\hline",
        r"n \\",
        r"\hline",
        r"$10^{-7}$ \\",
        r"\hline",
        r"\end{tabular}",
    ]
    page = ElementTree.fromstring(to_html(SHEET))
    assert [part.tag for part in page] == ["p", "p", "p", "table", "details"]
    assert [part.text for part in page.iter("strong")] == ["A_title <1>"] and page[2].text == "50% of it"
    assert page[2].get("role") == "note" and page[4][0].text == "second"
    assert page[1][0].get("display") == "block" and "".join(page[1].itertext()) == "x≤1"
    cells = [["".join(cell.itertext()) for cell in row] for row in page[3].iter("tr")]
    assert cells == [
        ["name of", "value", "more", "said"],
        ["a&b", "0.5", "x2", LONG],
        ["c<d", "2", "yes", "0.10000000000000001"],
    ]


def test_the_frame_of_a_sheet_has_its_first_table_or_its_columns():
    frame = to_frame(SHEET)
    assert frame.attrs == {"title": "A_title <1>", "notes": ["50% of it"]}
    assert [frame.iloc[0, at] for at in (0, 1, 2, 4)] == ["a&b", 0.5, "x^2", LONG]
    assert isinstance(frame.iloc[1, 4], float) and frame.iloc[1, 4] == 0.1 and frame.iloc[1, 2] is True
    assert to_frame(replace(SHEET, columns={"k": [1, 2, 3]}))["k"].tolist() == [1, 2, 3]


def test_what_stands_in_a_column_decides_how_it_is_set():
    def columns(*values: object) -> str:
        text = to_latex(Sheet("t", None, (Table("t", tuple("abcdef")[: len(values[0])], values),)))
        return text.partition(r"\begin{tabular}{")[2].split("}\n")[0]

    assert columns((1, True, 1.5), (None, False, "x")) == "rll", "a truth value is no number, and one text is enough"
    assert columns(("x" * 60, "y")) == "ll" and columns(("x" * 61, "y")) == r"p{0.75\linewidth}l"
    assert columns(("x" * 61, "y" * 99, 1)) == r"p{0.38\linewidth}p{0.38\linewidth}r"
    assert columns(("x", "y" * 61), ("z", 1)) == r"lp{0.75\linewidth}"
    assert r"\begin{tabular}{ll}" in to_latex(Sheet("t", None, (Table("t", ("a", "b"), ()),)))
    assert "no" in to_latex(Sheet("t", None, (Table("t", ("a",), ((False,),)),)))


def test_a_table_has_a_cell_for_each_column_and_a_bar_for_each_row():
    for rows, bars in (((("a",),), ()), ((("a", "b"),), (0.5, 0.1)), ((("a", "b"), ("c", "d")), (0.5,))):
        with pytest.raises(ValueError, match="wanted"):
            Table("t", ("x", "y"), rows, bars)
    kept = Table("t", ("x", "y"), (("a", None), ("b", "")), (0.5, None)).without_empty_columns()
    assert kept == Table("t", ("x",), (("a",), ("b",)), (0.5, None))
    full = Table("t", ("x", "y"), (("a", None), (None, 0)))
    assert full.without_empty_columns() is full, "a zero is something"
    empty = Table("t", ("x", "y"), ())
    assert empty.without_empty_columns() is empty


def test_rows_of_a_table_in_plain_text_and_on_a_page():
    assert markdown_table(["a", "long head"], [["x|y"], ["zzzz", "1"]]) == [
        "| a    | long head |",
        "|------|-----------|",
        "| x|y  |           |",
        "| zzzz | 1         |",
    ]
    assert markdown_table(["", "b"], [["1", "2"]], align=False) == ["|  | b |", "|---|---|", "| 1 | 2 |"]
    assert markdown_table(["a"], [[r"x|y\|z"]], align=False)[2] == r"| x\|y\|z |"
    assert markdown_table([""], []) == ["|  |", "|---|"]
    with pytest.raises(ValueError, match="longer"):
        markdown_table(["a"], [["1", "2"]])


class Answer(AbstractResult):
    """An answer of so many lines."""

    def __init__(self, lines: int, claim: Math | None = None) -> None:
        self.lines, self.claim = lines, claim

    def __str__(self) -> str:
        return "\n".join(f"line {n}" for n in range(1, self.lines + 1))

    def sheet(self) -> Sheet:
        return Sheet("a_b", self.claim, (Table("t", ("x",), ((1,),)),))

    def to_dict(self) -> dict[str, object]:
        return {"x": inf, "y": [nan, (1.5, 2)], "z": {"w": -inf, "text": "inf", "n": 3, "no": None, "yes": True}}


def test_an_answer_is_cut_to_six_lines_the_last_among_them():
    assert repr(Answer(6)) == str(Answer(6)) and repr(Answer(3)) == str(Answer(3))
    assert repr(Answer(7)).splitlines() == [*(f"line {n}" for n in range(1, 5)), "  … 7 lines", "line 7"]
    assert latex(Answer(1)) == r"$\text{a\_b}$"
    assert latex(Answer(1, Math("x", r"\xi"))) == r"$\displaystyle \xi$"
    assert html(Answer(1)) == to_html(Answer(1).sheet()) and Answer(1).to_latex() == to_latex(Answer(1).sheet())


def test_json_has_null_for_what_is_not_finite():
    wanted = {"x": None, "y": [None, [1.5, 2]], "z": {"w": None, "text": "inf", "n": 3, "no": None, "yes": True}}
    assert finite(Answer(1).to_dict()) == wanted and json.loads(Answer(1).to_json()) == wanted
    assert Answer(1).to_json().splitlines()[:2] == ["{", '  "x": null,']


def test_bars_are_relative_to_the_largest_size():
    assert relative([1, -4, None, 2.0, inf, nan]) == (0.25, -1.0, None, 0.5, None, None)
    assert relative([0.0, None, 0]) == (None, None, None) and relative([]) == ()
    assert relative([0.5, 0.25]) == (1.0, 0.5)


# --- numbers --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (12048.0, "12048"),
        (-3, "-3"),
        (123456789.0, "123456789"),
        (999999999.0, "999999999"),
        (1e9, "1e+09"),
        (1234567891.0, "1.23457e+09"),
        (0.1234565, "0.123456"),  # half to even
        (0.1234575, "0.123458"),
        (1234567.5, "1.23457e+06"),
        (1000000.5, "1e+06"),
        (999999.25, "999999"),
        (999999.75, "1e+06"),
        (99999.95, "100000"),
        (0.0001, "0.0001"),
        (0.00012345678, "0.000123457"),
        (0.000099, "9.9e-05"),
        (0.5, "0.5"),
        (20.25, "20.25"),
        (Decimal("0.1"), "0.10000000000000001"),
        (Decimal(3), "3"),
        (inf, "inf"),
        (-inf, "-inf"),
        (nan, "nan"),
    ],
)
def test_a_number_in_six_digits(value: float, text: str):
    assert shown(value) == text


@pytest.mark.parametrize("seed", range(40))
def test_a_rounded_number_is_on_its_side_and_near(seed: int):
    rng = Random(seed)
    value = rng.choice([-1, 1]) * rng.uniform(1, 10) * 10.0 ** rng.randint(-12, 12)
    up, down, near = float(rounded_up(value)), float(rounded_down(value)), float(shown(value))
    assert down <= value <= up and down <= near <= up and up - down <= abs(value) * 1.1e-5
    assert abs(near - value) <= abs(value) * 0.51e-5


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("0.5", "0.5"),
        ("1.2e-07", r"1.2 \cdot 10^{-7}"),
        ("1e+09", "10^{9}"),
        ("2e+10", r"2 \cdot 10^{10}"),
        ("inf", r"\infty"),
        ("-inf", r"-\infty"),
    ],
)
def test_a_printed_number_in_latex(text: str, latex: str):
    assert tex_number(text) == latex


# --- answers of the demonstration, whose numbers are these by hand -----------------------------------------------------------

AT = {"L": 2, "sigma": 3, "F_gap": 5, "T": 10, "N": 9}
"""V = 9/9, eta = 1/4: the terms are 2*5/(10/4) = 4 and 2/4 = 1/2."""
METRIC = "(1/T) sum_t E||grad F(xbar_t)||^2"


def test_a_bound_word_by_word():
    found = THEOREM.bound("printed", **AT)
    assert str(found).splitlines() == [
        f"demo.theorem_1 (printed): {METRIC} <= 4.5",
        "  initialisation = 4",
        "  first_noise = 0.5",
        "  V = 1",
        "  admissible",
    ]
    numbers = {
        "theorem": "demo.theorem_1",
        "statement": "printed",
        "metric": METRIC,
        "total": 4.5,
        "terms": {"initialisation": 4.0, "first_noise": 0.5},
        "derived": {"V": 1.0},
        "admissible": True,
        "conditions": [
            {"name": "step_size", "relation": "eta <= 1/L", "holds": True, "slack": 0.25},
            {"name": "horizon", "relation": "T > 3", "holds": True, "slack": 7.0},
        ],
        "values": {"F_gap": "5", "L": "2", "N": "9", "T": "10", "eta": "1/4", "sigma": "3"},
        "method_range": [],
        "failures": [],
    }
    worth = {"vacuous": None, "without_running": None, "rests_on_estimates": []}
    assert found.numbers_only() == numbers and found.to_dict() == {
        **numbers,
        **worth,
        "status": "derived",
        "refuted_by": [],
    }
    assert float(found) == 4.5
    sheet = found.sheet()
    assert sheet.title == "demo.theorem_1 (printed)" and sheet.notes == ()
    assert sheet.claim == Math(f"{METRIC} <= 4.5", rf"{METRICS['mean_gradient_sq'].latex} \le 4.5")
    assert [table.name for table in sheet.tables] == ["terms", "derived constants", "constants", "conditions"]
    assert sheet.tables[0].rows == (
        ("initialisation", 4.0, 4 / 4.5),
        ("first_noise", 0.5, 0.5 / 4.5),
        ("total", 4.5, 1.0),
    )
    assert sheet.tables[0].bars == (4 / 4.5, 0.5 / 4.5, None)
    assert [row[2] for row in sheet.tables[2].rows] == [2.0, 3.0, 5.0, 10.0, 9.0, 0.25]
    assert sheet.tables[3].rows[0][2:] == (True, 0.25, None, None)
    assert list(found.plot().data.values()) == [[4.0, 0.5]] and "terms of the bound" in found.plot().title


def test_a_bound_outside_its_conditions_word_by_word():
    found = THEOREM.bound("printed", strict=False, **{**AT, "T": 3}, eta=1)
    assert str(found).splitlines()[-3:] == [
        "  NOT admissible:",
        "    step_size: eta <= 1/L: wanted <= 0.5, got 1",
        "    horizon: T > 3: wanted > 3, got 3",
    ]
    sheet = found.sheet()
    assert sheet.claim is None and found.failed == ("step_size", "horizon")
    assert sheet.notes == (
        "outside the conditions of the statement: step_size, horizon fail; it promises nothing here",
    )
    assert [row[2:] for row in sheet.tables[3].rows] == [(False, -0.5, "<= 0.5", 1.0), (False, 0.0, "> 3", 3.0)]
    one = THEOREM.bound("printed", strict=False, **AT, eta=1)
    assert one.sheet().notes[0].startswith("outside the conditions of the statement: step_size fails;")
    with pytest.raises(
        InadmissibleError, match=r"condition step_size, horizon fails \(step_size: eta <= 1/L: wanted <="
    ):
        THEOREM.bound("printed", **{**AT, "T": 3}, eta=1)
    nothing = THEOREM.bound("printed", **{**AT, "F_gap": 0, "sigma": 0})
    assert nothing.total == 0 and {row[2] for row in nothing.sheet().tables[0].rows} == {None}


def test_what_only_defines_constants_has_no_total():
    statement = replace(PRINTED, terms=(), conditions=(), schedule={})
    only = replace(THEOREM, kind="lemma", statements={"printed": statement}).bound("printed", sigma=3, N=9)
    assert only.total is None and only.terms == {} and only.derived == {"V": 1.0} and only.sheet().claim is None
    assert str(only).splitlines() == ["demo.theorem_1", "  V = 1", "  admissible"]
    assert [table.name for table in only.sheet().tables] == ["derived constants", "constants"]
    with pytest.raises(TypeError, match="only defines constants"):
        float(only)


def test_a_bound_on_arrays_word_by_word():
    found = THEOREM.bound("printed", strict=False, **{**AT, "T": [10, 3, 20]})
    assert str(found).splitlines() == [
        f"demo.theorem_1 (printed): {METRIC} at 3 points (3), 2 admissible",
        "  from 2.5 to 4.5 where admissible",
    ]
    data = found.to_dict()
    assert data["total"] == [4.5, 80 / 6 + 0.5, 2.5] and data["terms"]["first_noise"] == [0.5, 0.5, 0.5]
    assert data["admissible"] == [True, False, True] and data["status"] == "derived"
    assert data["values"] == {"L": 2.0, "sigma": 3.0, "F_gap": 5.0, "N": 9.0, "T": [10.0, 3.0, 20.0]}
    sheet = found.sheet()
    assert sheet.notes == ("1 of 3 points are outside the conditions; it promises nothing there",)
    assert sheet.tables[0].columns == ("T", "total", "initialisation", "first_noise", "admissible")
    assert sheet.tables[0].rows[2] == (20.0, 2.5, 2.0, 0.5, True) and sheet.tables[0].rows[1][-1] is False
    assert [row[1] for row in sheet.tables[1].rows] == [2.0, 3.0, 5.0, 9.0]
    none = THEOREM.bound("printed", strict=False, **{**AT, "T": [3, 2]})
    assert len(str(none).splitlines()) == 1 and "0 admissible" in str(none)
    square = THEOREM.bound("printed", **{**AT, "T": [[10, 20]], "L": [[1], [2]]})
    assert "at 4 points (2x2), 4 admissible" in str(square) and square.sheet().notes == ()
    plot = found.plot()
    assert plot.title == "demo.theorem_1 (printed) over T"
    assert [list(plot.data[f"bound: {axis}"])[::2] for axis in "xy"] == [[10.0, 20.0], [4.5, 2.5]]
    assert not plot.data["bound: y"][1] or plot.data["bound: y"][1] != plot.data["bound: y"][1]


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("L", [0.5, 1e300], [0.0, -1.0, inf, nan]),
        ("sigma", [0.0, 0.5], [-0.5, inf, nan]),
        ("N", [1, 2], [0, 1.5, -1, inf]),
    ],
)
def test_arrays_are_in_the_domain_of_their_symbol(name: str, good: list[float], bad: list[float]):
    assert THEOREM.bound("printed", strict=False, **{**AT, name: good}).total.shape == (2,)
    for value in bad:
        with is_refused(f"^{name}: wanted a .* at every point, got {value:g}$"):
            THEOREM.bound("printed", strict=False, **{**AT, name: [good[0], value, good[1]]})


def test_an_admissible_set_word_by_word():
    found = THEOREM.admissible("eta", "printed", **AT)
    assert str(found).splitlines() == [
        "demo.theorem_1 (printed):",
        "  eta in `(0, 0.5]` (binding: - / step_size)",
    ]
    interval = {"lower": 0.0, "upper": 0.5, "lower_closed": False, "upper_closed": True}
    interval["binding"] = {"lower": None, "upper": "step_size"}
    data = {
        "theorem": "demo.theorem_1",
        "statement": "printed",
        "feasible": True,
        "intervals": {"eta": interval},
        "conflict": [],
        "remarks": [],
    }
    assert found.to_dict() == {**data, "status": "derived", "refuted_by": []}
    noted = replace(found, note="by hand")
    assert noted.to_dict()["note"] == "by hand" and str(noted) == str(found) + "\n  by hand"
    assert replace(found, given={}) == found != noted
    assert found.markdown().splitlines()[0] == "| hyperparameter | admissible | binds below | binds above |"
    assert found.markdown().splitlines()[2] == "| `eta`          | `(0, 0.5]` |             | step_size   |"
    assert found.latex() == r"eta \in \left(0, 0.5\right]"
    sheet = found.sheet()
    assert sheet.claim == Math("eta in (0, 0.5]", r"\eta \in \left(0, 0.5\right]") and sheet.notes == ()
    assert [table.name for table in sheet.tables] == ["admissible values", "constants"]
    assert sheet.tables[0].rows == (
        (Math("eta", r"\eta"), Math("(0, 0.5]", r"\left(0, 0.5\right]"), 0.0, 0.5, None, "step_size"),
    )
    assert [row[2] for row in replace(found, note="by hand").sheet().tables[1].rows] == [2.0, 3.0, 5.0, 10.0, 9.0]
    assert replace(found, note="by hand").sheet().notes == ("by hand",)
    longer = THEOREM.admissible("T", "printed", **{n: v for n, v in AT.items() if n != "T"}, eta="1/4")
    assert str(longer).splitlines()[1:] == [
        "  T in `[4, inf)` (binding: horizon / -)",
        "  the theorem does not limit T from above",
    ]
    assert (
        longer.to_dict()["remarks"] == ["the theorem does not limit T from above"]
        and longer.sheet().notes == longer.remarks
    )


def test_nothing_admissible_word_by_word():
    found = THEOREM.admissible("eta", "printed", **{**AT, "T": 3})
    assert str(found).splitlines() == [
        "demo.theorem_1 (printed): infeasible; conflicting conditions: horizon",
        "  horizon: T > 3",
    ]
    assert found.sheet().notes == ("no admissible value; conflicting conditions: horizon: T > 3",)
    assert (
        found.sheet().claim is None
        and found.to_dict()["conflict"] == ["horizon"]
        and found.to_dict()["feasible"] is False
    )
    noted = replace(found, conflict=("step_size", "not_there"))
    assert str(noted).splitlines()[1:] == ["  step_size: eta <= 1/L (for the descent lemma)"]
