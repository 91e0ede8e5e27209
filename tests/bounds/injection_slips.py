"""Slips of the kind that papers and typists make, each planted in a copy of one registered statement.

A slip is (theorem, label, place, what, change): `place` is "term NAME", "constant NAME", "left NAME" or "right NAME"
(of a condition), "relation NAME" or "schedule NAME"; `change(expr, notation)` returns the slipped expression.
"""

from __future__ import annotations

from dataclasses import replace

import sympy as sp
from fedco.bounds.language.theorem import Statement, Theorem

R = sp.Rational


def times(factor):
    return lambda e, w: e * sp.sympify(factor)


def becomes(old: str, new: str):
    """One symbol for another, or for the number 1."""
    return lambda e, w: e.xreplace({getattr(w, old): sp.Integer(1) if new == "1" else getattr(w, new)})


def power(name: str, old, new):
    """Another exponent, wherever the old one stands."""
    return lambda e, w: e.subs(getattr(w, name) ** sp.sympify(old), getattr(w, name) ** sp.sympify(new))


def period(new):
    """Another function of the period in place of I - 1."""
    return lambda e, w: e.subs(w.I - 1, new(w.I))


def extremum(e, w):
    return e.replace(sp.Max, lambda *parts: sp.Min(*parts, evaluate=False))


def constant(old: str, new: str):
    """One derived constant for another."""

    def change(e, w):
        names = {str(symbol): symbol for symbol in e.free_symbols}
        return e.xreplace({names[old]: sp.Symbol(new, nonnegative=True)})

    return change


def without(marker: str):
    """The summand that contains a symbol is dropped."""
    return lambda e, w: sp.Add(*(part for part in sp.Add.make_args(sp.expand(e)) if not part.has(getattr(w, marker))))


def relation(new: str):
    return lambda e, w: new


MAIN, LONG = "feddro.theorem_5_1", "feddro.theorem_f_1"
SLIPS = [
    (MAIN, "printed", "term initialisation", "factor 2 dropped", times(R(1, 2))),
    (MAIN, "printed", "term initialisation", "y_err for its square", power("y_err", 2, 1)),
    (MAIN, "printed", "term initialisation", "K lost", becomes("K", "1")),
    (MAIN, "printed", "term variance_h", "sigma for sigma^2", power("sigma_h", 2, 1)),
    (MAIN, "printed", "term variance_h", "min for max", extremum),
    (MAIN, "printed", "term variance_h", "I for I - 1", period(lambda I: I)),
    (MAIN, "printed", "term variance_g", "C_sigma_h for C_sigma_g", constant("C_sigma_g", "C_sigma_h")),
    (MAIN, "printed", "term heterogeneity_h", "Delta_g for Delta_h", becomes("Delta_h", "Delta_g")),
    (MAIN, "printed", "term heterogeneity_g", "sign", times(-1)),
    (MAIN, "printed", "term heterogeneity_g", "term dropped", times(0)),
    (MAIN, "printed", "constant C_Delta_h", "96 B_g^2 dropped", without("B_g")),
    (MAIN, "printed", "constant C_sigma_g", "B_f for B_f^2", power("B_f", 2, 1)),
    (MAIN, "printed", "constant c_beta", "B_g^2 for B_g^4", power("B_g", 4, 2)),
    (MAIN, "printed", "constant c_beta", "factor 4 dropped", times(R(1, 4))),
    (MAIN, "printed", "constant L_Phi", "L_h dropped", without("L_h")),
    (MAIN, "printed", "constant Lbar_fg", "L_f for L_f^2", power("L_f", 2, 1)),
    (MAIN, "printed", "constant T_th", "min for max", extremum),
    (MAIN, "printed", "constant T_th", "I for I^2", power("I", 2, 1)),
    (MAIN, "printed", "right horizon", "limit x 1/1.1", times(R(10, 11))),
    (MAIN, "printed", "right step_size_choice", "b lost", becomes("b", "1")),
    (MAIN, "printed", "schedule eta", "K lost", becomes("K", "1")),
    (MAIN, "printed", "schedule beta", "factor 2", times(2)),
    (MAIN, "corrected", "term variance", "6 becomes 3", times(R(1, 2))),
    (MAIN, "corrected", "term inner_noise", "beta for beta^2", power("beta", 2, 1)),
    (MAIN, "corrected", "term inner_variance", "K lost", becomes("K", "1")),
    (MAIN, "corrected", "term inner_heterogeneity", "jump dropped", period(lambda I: sp.Integer(0))),
    (MAIN, "corrected", "term drift_heterogeneity", "I for I - 1", period(lambda I: I)),
    (MAIN, "corrected", "term drift_variance", "sigma_h for sigma_g", becomes("sigma_g", "sigma_h")),
    (MAIN, "corrected", "term inner_initialisation", "L_f for L_f^2", power("L_f", 2, 1)),
    (MAIN, "corrected", "right step_size_period", "limit x 1.1", times(R(11, 10))),
    (MAIN, "corrected", "left step_size_embedding", "24 becomes 12", times(R(1, 2))),
    (MAIN, "corrected", "right step_size_direction", "1/2 becomes 1", times(2)),
    (MAIN, "corrected", "left step_size_direction", "second part dropped", without("sigma_g")),
    (MAIN, "corrected", "relation momentum_range", "< for <=", relation("<")),
    (MAIN, "corrected", "schedule beta", "factor 2", times(2)),
    (LONG, "printed", "term variance_h", "K lost", becomes("K", "1")),
    (LONG, "printed", "term heterogeneity_g", "B_f lost", becomes("B_f", "1")),
    (LONG, "printed", "term initialisation", "y_err dropped", becomes("y_err", "Phi_gap")),
    ("feddro.theorem_f_6", "printed", "term variance_h", "halved", times(R(1, 2))),
    ("feddro.theorem_f_6", "printed", "term heterogeneity_g", "eta^2 for eta^3", power("eta", 3, 2)),
    ("feddro.theorem_f_6", "printed", "right step_size_period", "factor 1/3 dropped", times(3)),
    ("feddro.lemma_f_2", "printed", "term direction", "eta for eta^2", power("eta", 2, 1)),
    ("feddro.lemma_f_2", "printed", "term drift", "L_g for L_f", becomes("L_f", "L_g")),
    ("feddro.lemma_f_2", "printed", "term inner", "factor 2 dropped", times(R(1, 2))),
    ("feddro.lemma_f_4", "printed", "term variance_g", "beta for beta^2", power("beta", 2, 1)),
    ("feddro.lemma_f_4", "printed", "term direction", "lost 1/K", becomes("K", "1")),
    ("feddro.lemma_f_5", "printed", "term drift", "factor 2 dropped", times(R(1, 2))),
    ("feddro.lemma_f_5", "printed", "right step_size_drift", "limit x 1.1", times(R(11, 10))),
    ("feddro.corollary_1", "printed", "term heterogeneity_h", "lost 1/sqrt(K)", becomes("K", "1")),
    ("feddro.corollary_1", "printed", "right local_updates", "T^(1/2) for T^(1/4)", power("T", R(1, 4), R(1, 2))),
    ("feddro.theorem_4_2", "corrected", "term heterogeneity", "27/4 becomes 27/8", times(R(1, 2))),
    ("feddro.theorem_4_2", "corrected", "left step_size_period", "54 becomes 27", times(R(1, 2))),
    ("feddro.lemma_3_1", "printed", "constant L_Phi", "B_g for B_g^2", power("B_g", 2, 1)),
    ("comfedl.theorem_2", "printed", "term estimator_drift", "factor 2 dropped", times(R(1, 2))),
    ("comfedl.theorem_2", "printed", "term inner_value_noise", "L_g lost", becomes("L_g", "1")),
    ("comfedl.theorem_2", "printed", "term inner_jacobian_noise", "G_f for G_g", becomes("G_g", "G_f")),
    ("comfedl.theorem_2", "printed", "term inner_jacobian_noise", "sigma^2 for sigma", power("sigma", 1, 2)),
    ("comfedl.theorem_2", "printed", "term mean_drift", "tau lost", becomes("tau", "1")),
    ("comfedl.theorem_2", "printed", "term second_order", "doubled", times(2)),
    ("comfedl.theorem_2", "printed", "term initialisation", "lost 1/T", becomes("T", "1")),
    ("comfedl.theorem_2", "printed", "constant H", "L_f for L_g", becomes("L_g", "L_f")),
    ("comfedl.theorem_2", "printed", "right whole_rounds", "2 tau for tau", times(2)),
    ("comfedl.theorem_1", "corrected", "term estimator_drift", "factor 2", times(2)),
    ("comfedl.lemma_3", "printed", "term outer_noise", "4 for 5", times(R(4, 5))),
    ("fcsg.theorem_4_1", "printed", "term bias", "factor 2 dropped", times(R(1, 2))),
    ("fcsg.theorem_4_1", "printed", "term variance", "lost 1/N", becomes("N", "1")),
    ("fcsg.theorem_4_1", "printed", "term drift", "q for q - 1", lambda e, w: e.subs(w.q - 1, w.q)),
    ("fcsg.theorem_4_1", "printed", "term drift", "78 for 42", times(R(78, 42))),
    ("fcsg.theorem_4_1", "printed", "term initialisation", "factor 2 dropped", times(R(1, 2))),
    ("fcsg.theorem_4_1", "printed", "constant S_F", "S_g for S_f", becomes("S_f", "S_g")),
    ("fcsg.theorem_4_1", "printed", "right step_size", "limit x 1.1", times(R(11, 10))),
    ("fcsg.theorem_4_1", "printed", "right step_size", "limit x 0.9", times(R(9, 10))),
    ("fcsg.corollary_4_2", "printed", "term variance", "T for sqrt(T)", power("T", R(-1, 2), -1)),
    ("fcsg.corollary_4_2", "printed", "term drift", "19 becomes 10", times(R(10, 19))),
    ("fcsg_m.theorem_4_4", "printed", "term start", "B lost", becomes("B", "1")),
    ("fcsg_m.theorem_4_4", "printed", "term variance", "sign", times(-1)),
    ("fcsg_m.theorem_4_4", "printed", "term drift", "q for q^2", power("q", 2, 1)),
    ("acc_fcsg_m.theorem_4_7", "printed", "term bias", "3 becomes 2", times(R(2, 3))),
    ("acc_fcsg_m.theorem_4_7", "printed", "right step_size", "limit x 1.1", times(R(11, 10))),
    ("meta_fl.theorem_8", "printed", "term noise", "beta lost", becomes("beta", "1")),
    ("meta_fl.theorem_8", "printed", "term sampling", "n for n - 1", lambda e, w: e.subs(w.n - 1, w.n)),
    ("meta_fl.theorem_8", "printed", "term drift_noise", "tau for tau - 1", lambda e, w: e.subs(w.tau - 1, w.tau)),
    ("meta_fl.theorem_8", "printed", "right step_size", "limit x 1.1", times(R(11, 10))),
    ("meta_fl.theorem_8", "printed", "constant gamma_F", "gamma_H for gamma_G", becomes("gamma_G", "gamma_H")),
    ("local_scgdm.theorem_3_4", "printed", "term initial_gap", "factor 2 dropped", times(R(1, 2))),
    ("local_scgdm.theorem_3_4", "printed", "term gradient_noise", "C_g for C_f", becomes("C_f", "C_g")),
    ("local_scgdm.theorem_3_4", "printed", "term gradient_noise", "alpha lost", becomes("alpha", "1")),
    ("local_scgdm.theorem_3_4", "printed", "term drift", "p for p^2", power("p", 2, 1)),
    ("local_scgdm.theorem_3_4", "printed", "term initial_inner", "L_g for L_g^2", power("L_g", 2, 1)),
    ("local_scgdm.theorem_3_4", "printed", "right step_scale_descent", "limit x 1.1", times(R(11, 10))),
    ("local_scgdm.theorem_3_4", "printed", "right period", "limit x 1.1", times(R(11, 10))),
    ("local_scgdm.lemma_4_3", "printed", "term inner_noise", "doubled", times(2)),
]


def planted(theorem: Theorem, label: str, place: str, change) -> Theorem:
    """A copy of a theorem with one slip.

    Raises:
        DeclarationError: the copy contradicts itself and cannot be built.
    """
    statement, notation = theorem.statement(label), theorem.notation.namespace()
    kind, name = place.split(" ", 1)
    fields = {
        "term": "terms",
        "constant": "derived",
        "left": "conditions",
        "right": "conditions",
        "relation": "conditions",
    }
    if kind == "schedule":
        changed = {
            **statement.schedule,
            name: _moved(sp.sympify(statement.schedule[name]), change, notation, statement),
        }
        made = replace(statement, schedule=changed)
    else:
        field, part = fields[kind], {"term": "expr", "constant": "expr"}.get(kind, kind)
        items = tuple(
            replace(item, **{part: _moved(getattr(item, part), change, notation, statement)})
            if item.name == name
            else item
            for item in getattr(statement, field)
        )
        assert items != getattr(statement, field), f"nothing was planted: {theorem.id} has no {place}"
        made = replace(statement, **{field: items})
    return replace(theorem, statements={**theorem.statements, label: made})


def _moved(expr, change, notation, statement: Statement):
    """The slipped expression; where the slip is inside a derived constant, that constant is written out first."""
    changed = change(expr, notation)
    if changed == expr:
        changed = change(statement.expand(expr), notation)
        assert changed != statement.expand(expr), f"nothing to slip in {expr}"
    return changed
