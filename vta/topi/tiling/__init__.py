"""Choosing tiles: what they take of the scratchpads, what they cost in cycles, the search. Tests: tests/vta/topi."""

from vta.topi.tiling.cost import Bus, Price, Work, comes_in_steps, cycles
from vta.topi.tiling.footprint import Footprint, TilingError, require_fit
from vta.topi.tiling.rounds import followed_cycles, priced
from vta.topi.tiling.search import Candidate, cheapest, copies_in_turn, divisors, even_parts, turning_loop

__all__ = [
    "Bus", "Candidate", "Footprint", "Price", "TilingError", "Work", "cheapest", "comes_in_steps", "copies_in_turn",
    "cycles", "divisors", "even_parts", "followed_cycles", "priced", "require_fit", "turning_loop",
]  # fmt: skip
