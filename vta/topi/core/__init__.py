"""What operators of all kinds share: the operator's face, layouts, epilogues, windows, parameters.

A module that two kinds of operators need belongs here; one that a single kind needs belongs to that kind. The choice of
tiles does not (``vta.topi.tiling``). Tests: tests/vta/topi/core.
"""
