"""The explorer: one offline HTML page on which a reader moves the constants of a theorem and sees its bound follow.

`page.write_explorer` writes it. The JavaScript of every formula is generated from the declaration (`javascript.py`); only the
page's own controls and charts are written by hand (`templates/`).
"""
