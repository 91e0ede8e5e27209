"""What a notebook shows of an answer: its HTML, its LaTeX and its SVG, by the formatters of IPython."""

from __future__ import annotations

from IPython.core.formatters import HTMLFormatter, LatexFormatter, SVGFormatter

html, latex, svg = HTMLFormatter(), LatexFormatter(), SVGFormatter()
