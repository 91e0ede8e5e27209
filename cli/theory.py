"""fedco theorems | show | audit | prove | symbols | constants"""

from __future__ import annotations

from pathlib import Path

from ..bounds.language.reading import InputError
from .command import Answer, Asked, Texts, chosen_label, command, listing, note


@command()
def theorems(paper: str | None = None) -> Answer:
    """List every registered theorem, corollary and lemma."""
    from .. import bounds

    found = bounds.get_theorems(paper) if paper else bounds.all_theorems().values()
    rows = [
        {"id": t.id, "kind": t.kind, "title": t.title, "source": str(t.source), "statements": list(t.labels)}
        for t in found
    ]
    text = "\n".join(
        f"{row['id']:<32} {row['kind']:<10} {row['title']}  [{', '.join(row['statements'])}]" for row in rows
    )
    plain = {name: lambda row, name=name: row[name] for name in ("id", "kind", "title")}
    return listing(
        "theorems", "Theorems", rows, text, {**plain, "statements": lambda row: ", ".join(row["statements"])}
    )


@command("latex", "markdown", trust=True)
def show(name: str, statement: str | None = None) -> Answer:
    """Show a theorem: assumptions, constants with meaning and dimension, conditions, terms.

    Example: fedco show fcsg.theorem_4_1 --statement corrected --latex
    """
    from ..bounds.language.rendering import describe, sheets_of, theorem_latex, to_text
    from ..bounds.registry import get_theorem

    item = get_theorem(name)
    labels = (chosen_label(item, statement),) if statement else item.labels
    latex = {"latex": lambda: theorem_latex(item, labels)}
    return Answer(describe(item, labels), to_text(item, labels), lambda: sheets_of(item, labels), latex)


@command("latex", "markdown", trust=True)
def audit(name: str | None = None, recheck: str | None = None, check: bool | None = None) -> Answer:
    """List every discrepancy found in the papers, worst first, each with a check that anyone can run again.

    The findings of a paper are read from its last audit, whose date is printed, until its declarations change.
    """
    if recheck:
        from ..bounds.audit.checks import recheck as run_again

        evidence = {key: str(value) for key, value in run_again(recheck, name).items()}
        data = {"finding": recheck, "confirmed": True, "evidence": evidence}
        return Answer(data, f"{recheck}: confirmed\n{evidence}")
    from ..bounds.audit.findings import counted, describe, findings_sheet
    from ..bounds.audit.make_audit_cache import findings

    rows, dates = findings(name, check)
    days = sorted({day for day in dates.values() if day})
    checked = f"every check confirmed on {' to '.join(days)}" if days else "not checked"
    note(f"{counted(rows)}, {checked}" if rows else "no findings: there was no check to run")
    text = "\n\n".join(describe(row) for row in rows)
    return Answer({"findings": rows, "checked": dates}, text, lambda: [findings_sheet(rows)])


@command("latex", "markdown", "html", trust=True)
def prove(name: str, statement: str | None = None, rules_only: bool = False) -> Answer:
    """Check the derivation of a corrected statement step by step, and print it; exit status 1 if it does not check.

    There are two checks: every step must follow by the rules of a kernel, and every claim must hold on exact instances that the
    method's own code runs, with constants measured on them. `checked` needs both. It is false where the derivation takes a lemma as
    true that the kernel has not checked (listed under "given"), and where no instance says anything about a step ("not_covered").

    With --latex, --markdown or --html the proof is written as a referee reads it: setting, assumptions, each step as a formula with
    its reason, the multipliers of each combination, and what is left out.

    Instead of an ID you may give a certificate of `fedco sharpen`, which the kernel then checks again at its numbers.

    Examples: fedco prove fcsg.theorem_4_1; fedco prove sharpened.json; fedco prove fcsg.theorem_4_1 --latex > proof.tex
    """
    from ..bounds import get_theorem
    from ..bounds.proof.locks import prove as both_locks

    if name.endswith(".json"):
        from ..bounds.proof.sharpen import recheck

        found = recheck(name, get_theorem)
        return Answer(found.to_dict(), found, status=int(not found.accepted))
    theorem = get_theorem(name)
    proof = both_locks(theorem, chosen_label(theorem, statement), rules_only=rules_only, given=name, note=note)

    def written(medium: str) -> str:
        from ..bounds.proof.written import document, media

        shown = document.document(theorem, proof.verdict, proof)
        return {"latex": media.to_latex, "markdown": media.to_markdown, "html": media.to_html}[medium](shown)

    by_medium = {medium: lambda medium=medium: written(medium) for medium in ("latex", "markdown", "html")}
    status = int(not (proof.verdict.checked if rules_only else proof.checked))
    return Answer(proof.to_dict(), proof, None, by_medium, status)


@command()
def symbols(words: Texts = None) -> Answer:
    """Find symbols by meaning: each quantity with its range, its dimension and the letter that every paper has for it.

    Example: fedco symbols step size
    """
    from ..bounds.vocabulary import search

    found = search(words or [])
    return Answer({"symbols": [row.to_dict() for row in found]}, "\n".join(map(str, found)))


@command(trust=True)
def constants(names: list[str], statement: str | None = None, shared: bool = False, out: Path | None = None) -> Answer:
    """Write a TOML file for --constants that you fill in: it has the meaning, dimension and range of every constant of a statement.

    Example: fedco constants feddro.theorem_5_1 fcsg.theorem_4_1 --shared --out constants.toml
    """
    from ..bounds.vocabulary import template
    from ..storage import write_text

    chosen = [Asked(name, statement).chosen for name in names]
    text = template(chosen, shared=shared)
    if out is not None:
        if out.exists():
            raise InputError(f"--out {out}: wanted a new file, got one that is there")
        write_text(out, text)
    data = {"statements": [item.name for item in chosen], "toml": text, "file": str(out) if out else None}
    return Answer(data, f"wrote {out}" if out else text.rstrip("\n"))
