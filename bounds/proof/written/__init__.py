"""A checked derivation as a referee reads it: in standard notation, as Markdown, LaTeX or HTML."""
