"""A proof to read: every proved statement in every medium, in standard notation, each reason about an earlier line."""

import re
from fractions import Fraction
from functools import cache
from xml.etree import ElementTree

import pytest
import sympy as sp
from fedco.bounds import get_theorem
from fedco.bounds.language.reading import InputError
from fedco.bounds.language.result import Math
from fedco.bounds.language.typesetting import Letters
from fedco.bounds.proof.author import Proof as Author
from fedco.bounds.proof.derivations import derivation, derived_ids
from fedco.bounds.proof.kernel import App, Mean, Reader, Var, Verdict, dot, parameter, sq
from fedco.bounds.proof.kernel.algebra import Algebra
from fedco.bounds.proof.locks import Instances, Proof, prove
from fedco.bounds.proof.written.document import Display, Document, Heading, Listing, Paragraph, document
from fedco.bounds.proof.written.media import to_html, to_latex, to_markdown
from fedco.bounds.proof.written.notation import Notation
from hypothesis import given
from hypothesis import strategies as st
from quick import slow_but


@cache
def written(name: str) -> Document:
    theorem = get_theorem(name)
    return document(theorem, prove(theorem, rules_only=True).verdict)


def formulas(shown: Document) -> list[str]:
    found = []
    for block in shown.blocks:
        pieces = getattr(block, "text", getattr(block, "reason", ()))
        rows = block.items if isinstance(block, Listing) else (pieces if isinstance(pieces, tuple) else (),)
        found += [piece.latex for row in rows for piece in row if isinstance(piece, Math)]
        found += [block.latex] if isinstance(block, Display) else []
    return found


EVERY_LINE = (
    "library.gd_convex",
    "library.storm",
    "fcsg.corollary_4_2",
    "comfedl.theorem_2",
    "meta_fl.lemma_7",
    "meta_fl.lemma_11",
    "meta_fl.theorem_8_FO",
    "feddro.theorem_5_1",
    "local_scgdm.theorem_3_4",
)
"""They run every line of `proof/written` that all of them run, each after every line that it comes after somewhere; measured once."""


@pytest.fixture(scope="module", params=slow_but(EVERY_LINE, derived_ids()))
def shown(request: pytest.FixtureRequest) -> Document:
    return written(request.param)


def test_every_formula_is_balanced_and_in_standard_notation(shown: Document):
    for text in formulas(shown):
        assert text.count("{") == text.count("}")
        assert len(re.findall(r"\\left(?!\w)", text)) == len(re.findall(r"\\right(?!\w)", text))
        assert text.count(r"\begin{") == text.count(r"\end{")
        assert not re.search(r"mean_|\[[+-]\d\]|(?<!\\)sum_t|<=|\*\*|P\[|past", text)


def test_a_reason_names_earlier_lines_only(shown: Document):
    numbers = [int(block.number) for block in shown.blocks if isinstance(block, Display) and block.number]
    assert numbers == list(range(1, len(numbers) + 1)) and numbers
    for block in shown.blocks:
        if isinstance(block, Display) and block.number:
            words = "".join(piece for piece in block.reason if isinstance(piece, str))
            assert words and not re.search(r"(times|From|Add|and|,|:|at) '", words), (
                "a line that is not displayed has no name"
            )
            assert all(int(k) < int(block.number) for k in re.findall(r"\((\d+)\)", words))


def test_the_media_hold_the_same_lines(shown: Document):
    markdown, latex, html = to_markdown(shown), to_latex(shown), to_html(shown)
    lines = sum(isinstance(block, Display) for block in shown.blocks)
    numbered = sum(isinstance(block, Display) and bool(block.number) for block in shown.blocks)
    assert markdown.count(r"\tag{") == latex.count(r"\tag{") == html.count('<span id="line-') == numbered
    assert latex.count(r"\begin{equation*}") == latex.count(r"\end{equation*}") == lines
    assert html.count('display="block"') == lines
    assert markdown.count("$$") == 2 * lines
    assert "&amp;" not in re.sub(r"<p.*?</p>|<li>.*?</li>", "", html), "alignment marks are no symbols"
    body = re.sub(r"<!doctype html>|<meta[^>]*>", "", html)
    ElementTree.fromstring(body.replace("&nbsp;", " "))


def test_the_conclusion_has_its_multipliers():
    last = [block for block in written("fcsg.theorem_4_1").blocks if isinstance(block, Display)][-1]
    words = "".join(piece.latex if isinstance(piece, Math) else piece for piece in last.reason)
    assert words.count(" times (") == 3
    assert r"\frac{2}{\alpha T} times (" in words and r"\frac{2 S_F^{2}}{T} times (" in words
    assert r"\frac{1}{T}\, \sum_{t=0}^{T-1} \mathcal{G}_{t}" in last.latex


def test_a_line_that_leaves_something_out_says_what():
    rows = [row for block in written("fcsg.theorem_4_1").blocks if isinstance(block, Listing) for row in block.items]
    text = ["".join(piece.latex if isinstance(piece, Math) else piece for piece in row) for row in rows]
    left_out = [row for row in text if row.startswith("In (")]
    verdict = prove(get_theorem("fcsg.theorem_4_1"), rules_only=True).verdict
    assert sum(row.count(r"\mathbb{E} \left\|") + row.count(r"L_f^{2} L_g^{2}}{b B N}") for row in left_out) == len(
        verdict.dropped
    )


def test_a_corollary_shows_each_term_and_condition():
    texts = formulas(written("fcsg.corollary_4_2"))
    assert any(text.startswith(r"\alpha = ") for text in texts)
    assert sum(r" \le " in text for text in texts) >= 6


def test_a_loop_shows_its_sequences():
    texts = formulas(written("meta_fl.lemma_5"))
    assert r"G_{0} = 0,\quad G_{t+1} = 1 + A^{2} G_{t}" in texts


def test_alternatives_are_cases():
    titles = [block.text for block in written("local_scgdm.theorem_3_4").blocks if isinstance(block, Heading)]
    assert sum(title.startswith("Case: ") for title in titles) >= 2 and titles.count("Conclusion") >= 2


def test_it_says_how_it_was_checked():
    theorem = get_theorem("baselines.minibatch_sgd")
    verdict = prove(theorem, rules_only=True).verdict

    def words(instances: Instances | None) -> str:
        return to_markdown(document(theorem, verdict, Proof(verdict, instances)))

    assert "not called checked" in words(None)
    assert "All hold." in words(Instances(5, ("one",)))
    assert "They do not confirm the proof." in words(Instances(5, ("one",), failed=("step: 1 against 0",)))
    assert "step: 1 against 0" in words(Instances(5, ("one",), failed=("step: 1 against 0",)))


def test_what_the_kernel_refuses_is_no_proof_to_read():
    theorem = get_theorem("baselines.minibatch_sgd")
    with pytest.raises(InputError, match="does not accept the derivation: left over"):
        document(theorem, Verdict(theorem.id, theorem.default, False, (), failure="left over"))


def test_words_of_a_stranger_are_no_markup():
    hostile = Document("<b>$x$ \\input{a}</b>", (Paragraph(("<i>$y$ \\input{b} `c`</i>",)), Heading("<u>_h_</u>")))
    html, latex, markdown = to_html(hostile), to_latex(hostile), to_markdown(hostile)
    assert not re.search(r"<(b|i|u)>", html)
    assert "\\input" not in latex and "$y$" not in latex
    assert "<i>" not in markdown.replace(r"\<i\>", "") and r"\$y\$" in markdown


class Small:
    """A setting with clients, a batch and a gradient, as a derivation declares it."""

    def __init__(self) -> None:
        theorem = get_theorem("baselines.local_sgd")
        self.s = Reader(theorem, theorem.statement())
        proof = self.proof = Author(self.s, time="independence")
        self.clients = proof.clients(self.s.N)
        self.batch = proof.batch("i", self.s.b, "independence")
        proof.source("xi", "n i", "independence")
        self.gradient = proof.function("dF", "x -> x", "xi", role="local_gradient")
        self.other = proof.function("dh", "x -> x", "xi", role="extra_gradient")
        self.x = proof.variable("x", "x", "n", every=parameter("eta") * Var("x"))
        self.p = proof.free("p", "x")[0]
        proof.objective(
            "F", lambda at: self.clients(proof.given(self.gradient(at, 0) + self.other(at, 0))), "smoothness"
        )
        self.notation = Notation(Algebra(proof.setting), Letters({}, {}), {})

    def client(self, point):
        return self.proof.given(self.gradient(point, 0) + self.other(point, 0))


@pytest.fixture(scope="module")
def small() -> Small:
    return Small()


def test_the_gradient_of_the_objective_has_its_name_at_any_point(small: Small):
    notation, mean = small.notation, small.clients(small.x)
    assert notation.term(small.clients(small.client(mean))) == r"\nabla F(\bar{x}_{t})"
    assert notation.term(small.client(small.x)) == r"\nabla F_{n}(x^{n}_{t})"


def test_what_only_resembles_it_does_not(small: Small):
    one = small.proof.given(small.gradient(small.x, 0) + small.other(small.p, 0))
    assert r"\nabla F_" not in small.notation.term(one).replace(r"\nabla F_{n}(x^{n}_{t};", "")
    alone = small.proof.given(small.gradient(small.x, 0))
    assert r"\nabla h" not in small.notation.term(alone)
    twice = small.proof.given(2 * small.gradient(small.p, 0) + small.other(small.p, 0))
    assert r"\nabla F_{n}(p)" not in small.notation.term(twice)


def test_means_and_norms_are_written_as_usual(small: Small):
    notation, x = small.notation, small.x
    assert (
        notation.scalar(sq(x - small.clients(x)))
        == r"\frac{1}{N} \sum_{n} \mathbb{E} \left\|x^{n}_{t} - \bar{x}_{t}\right\|^2"
    )
    assert notation.scalar(dot(small.clients(x), small.p)).startswith(r"\mathbb{E} \left\langle \bar{x}_{t},\, p")
    hat = notation.term(small.batch(small.gradient(x, 0)))
    assert hat == r"\widehat{\nabla F}_{n}(x^{n}_{t})"
    assert notation.hats[r"\widehat{\nabla F}_{n}(p)"] == r"\frac{1}{b} \sum_{i} \nabla F_{n}(p;\, \xi^{i})"
    assert r"\widehat{\nabla F}_{n}(\widehat" not in notation.term(Mean("i", small.gradient(small.gradient(x, 0), 0)))


def test_a_mean_over_one_of_two_batches_keeps_the_other_index():
    """The samples eta^{ij} of g differ over j inside of i: a hat over j keeps xi^i, and one over i alone would lose j."""
    theorem = get_theorem("fcsg.theorem_4_1")
    plan = derivation(theorem)
    notation = Notation(Algebra(plan.setting), Letters({}, {}), {})
    value = App("g", Var("v"), (0, 0))
    assert notation.term(Mean("j", value)) == r"\hat{g}_{n}(v^{n};\, \xi^{i})"
    assert notation.term(Mean("i", value)) == r"\operatorname{avg}_{i} g_{n}(v^{n};\, \xi^{i},\, \eta^{ij})"


parameters = [parameter(name) for name in "abc"]
numbers = st.lists(
    st.tuples(st.fractions(-3, 3, max_denominator=4), st.tuples(*[st.sampled_from([-1, 0, Fraction(1, 2), 1, 2])] * 3)),
    max_size=4,
)


@given(terms=numbers)
def test_a_number_keeps_its_value(small: Small, terms):
    value = sum(
        (c * parameters[0] ** i * parameters[1] ** j * parameters[2] ** k for c, (i, j, k) in terms), 0 * parameters[0]
    )
    point = {next(iter(p.params)): Fraction(q) for p, q in zip(parameters, (4, 9, 25), strict=True)}
    expr = small.notation.expression(value)
    at = {sp.Symbol(p.name, positive=True): sp.Rational(q.numerator, q.denominator) for p, q in point.items()}
    assert expr.subs(at) == sp.Rational(*value.at(point).as_integer_ratio())
