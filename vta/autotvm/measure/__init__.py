"""Measuring choices: what goes in and comes out in ``inputs``, builders and runners that do it on this computer."""
