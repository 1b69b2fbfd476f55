"""The operators: one family a file, with attributes, type relations, numpy meaning and its rows of the table.

``table`` joins the rows; ``call`` makes nodes of them; ``rewrite`` rebuilds graphs. ``qnn`` has the integer ones.
"""
