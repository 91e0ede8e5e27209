"""A proof to read as Markdown, LaTeX or HTML. Nothing that a user or a stranger's file wrote is markup in any of them."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from ...language.result import Math, markdown_text, tex_text
from ...language.typesetting import mathml
from .document import Display, Document, Heading, Listing, Paragraph, Piece

_STYLE = (
    "body{max-width:60rem;margin:2rem auto;padding:0 1rem;font:1rem/1.5 serif;color-scheme:light dark}"
    ".line{display:flex;gap:1rem;align-items:center;overflow-x:auto}.line math{flex:1}"
    ".reason{margin:0 0 1rem 2rem}p,li{overflow-x:auto;overflow-y:hidden}"
)


def to_markdown(document: Document) -> str:
    """Markdown with formulas between dollar signs."""
    return "\n\n".join([f"# {markdown_text(document.title)}", *markdown_blocks(document)]) + "\n"


def markdown_blocks(document: Document, *, below: int = 1, tags: bool = True) -> list[str]:
    """The same without its title, as a part of a page.

    Args:
        below: the level of the heading under which it stands. tags: number the formulas by tags, else in front of the reasons.
    """

    def text(pieces: tuple[Piece, ...]) -> str:
        return _text(pieces, markdown_text, "${}$")

    rows: list[str] = []
    for block in document.blocks:
        match block:
            case Heading(title, level):
                rows.append(f"{'#' * (level + below)} {markdown_text(title)}")
            case Paragraph(pieces):
                rows.append(text(pieces))
            case Listing(items):
                rows.append("\n".join(f"- {text(each)}" for each in items))
            case Display(formula, number, reason):
                tag = rf" \tag{{{number}}}" if number and tags else ""
                mark = f"({number}) " if number and not tags else ""
                rows.append(f"$$\n{formula}{tag}\n$$")
                rows += [mark + text(reason)] if reason or mark else []
    return rows


def to_latex(document: Document) -> str:
    """An appendix in LaTeX: a document of its own, of which the part between the marks can be taken over; needs amsmath and amssymb."""

    def text(pieces: tuple[Piece, ...]) -> str:
        return _text(pieces, tex_text, "${}$")

    rows = [
        r"\documentclass{article}",
        r"\usepackage{amsmath,amssymb}",
        r"\allowdisplaybreaks",
        r"\begin{document}",
        "% --- from here",
        rf"\section*{{{tex_text(document.title)}}}",
    ]
    for block in document.blocks:
        match block:
            case Heading(title, level):
                rows.append(rf"\{'subsection' if level == 1 else 'paragraph'}*{{{tex_text(title)}}}")
            case Paragraph(pieces):
                rows += [text(pieces), ""]
            case Listing(items):
                rows += [r"\begin{itemize}", *(rf"\item {text(each)}" for each in items), r"\end{itemize}"]
            case Display(formula, number, reason):
                tag = rf" \tag{{{number}}}" if number else ""
                rows += [r"\begin{equation*}", f"{formula}{tag}", r"\end{equation*}"]
                rows += [text(reason), ""] if reason else []
    return "\n".join([*rows, "% --- to here", r"\end{document}", ""])


def to_html(document: Document) -> str:
    """A page that needs nothing else: formulas are MathML."""

    def text(pieces: tuple[Piece, ...]) -> str:
        return "".join(mathml(each.latex) if isinstance(each, Math) else escape(each) for each in pieces)

    rows = [f"<h1>{escape(document.title)}</h1>"]
    for block in document.blocks:
        match block:
            case Heading(title, level):
                rows.append(f"<h{level + 1}>{escape(title)}</h{level + 1}>")
            case Paragraph(pieces):
                rows.append(f"<p>{text(pieces)}</p>")
            case Listing(items):
                rows.append("<ul>" + "".join(f"<li>{text(each)}</li>" for each in items) + "</ul>")
            case Display(formula, number, reason):
                mark = f'<span id="line-{escape(number)}">({escape(number)})</span>' if number else ""
                rows.append(f'<div class="line">{mathml(formula, display=True)}{mark}</div>')
                rows += [f'<p class="reason">{text(reason)}</p>'] if reason else []
    head = f'<meta charset="utf-8"><title>{escape(document.title)}</title><style>{_STYLE}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>\n' + "\n".join(rows) + "\n</body></html>\n"


def _text(pieces: tuple[Piece, ...], plain: Callable[[str], str], formula: str) -> str:
    return "".join(formula.format(each.latex) if isinstance(each, Math) else plain(each) for each in pieces)
