"""What can be said of a program's order and accesses: the static checker, and the sanitizer that runs it.

Analyses of whole programs belong here. The rules of a single word do not (``isa.legality``), nor what an instruction
touches (``isa.footprint``). Tests: tests/isa/check.
"""
