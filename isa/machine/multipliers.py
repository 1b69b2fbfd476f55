"""Who gets the multipliers of an FPGA when there are fewer than the core has use for.

Plain arithmetic. Tests: ``tests/isa/machine/test_multipliers.py``.
"""

from dataclasses import dataclass

__all__ = ["Multipliers", "share_out"]

_LANE_LUTS = {False: (450, 170, 170), True: (584, 167, 43)}
"""Look-up tables of an ALU lane that its first, second and third multiplier saves; True: they have 25 by 18 bits."""

_GEMM_LUTS = {False: 108, True: 202}
"""Look-up tables that a multiplier of the GEMM core saves; True: two products share it."""


@dataclass(frozen=True, slots=True)
class Multipliers:
    """How many multipliers the GEMM core has, and each lane of the ALU; ``luts`` are made instead of those missing."""

    gemm: int
    lanes: tuple[int, ...]
    luts: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.gemm + sum(self.lanes)


def share_out(most: int, *, products: int, lanes: int, shared: bool) -> Multipliers:
    """Give ``most`` multipliers to whoever saves most look-up tables by one.

    The GEMM core has use for one for every product, or every two if they are ``shared``, and a lane for three. The
    look-up tables are those that yosys 0.70 takes on a Xilinx 7 for operands of eight bits.
    """
    wanted = products // 2 if shared else products
    uses: list[tuple[int, int, int | None]] = [(_GEMM_LUTS[shared], wanted, None)]
    uses += [(saved, lanes, number) for number, saved in enumerate(_LANE_LUTS[shared])]
    left, gemm, luts = most, 0, 0
    given = [0] * lanes
    for saved, count, number in sorted(uses, key=lambda use: -use[0]):
        taken = min(left, count)
        left -= taken
        luts += (count - taken) * saved
        if number is None:
            gemm = taken
        else:
            given[:taken] = [number + 1] * taken
    return Multipliers(gemm, tuple(given), luts)
