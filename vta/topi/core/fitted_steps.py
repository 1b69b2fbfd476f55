"""Steps whose last constants are chosen so that they make certain numbers of certain data: a table, bit for bit.

Formulas of cells end with a sum, a shift and limits: ``clip(t + c >> s, low, high)``. Which c gives a table's numbers,
the few cells that there are tell, and which limits are needed as well. Where ties go to the even number, as ONNX has
it, no single c does, but two of them: ``(t + c >> s + 1) + (t + d >> s + 1)``, the first of which goes up where odd
results begin, and the second where even ones do. Tests: tests/vta/topi/core/test_fitted_steps.py.
"""

import numpy as np
import numpy.typing as npt

from vta.topi.core.epilogue import Add, Clip, Epilogue, Fork, Joint, ShiftRight, Step, applied
from vta.topi.core.epilogue_steps import WORD
from vta.topi.core.fixed_point import OutputSteps

__all__ = ["fitted_steps"]

Ints = npt.NDArray[np.int32]
Wide = npt.NDArray[np.int64]


def fitted_steps(made: OutputSteps, data: Ints, wanted: Ints) -> Epilogue | None:
    """Return steps like ``made`` that make ``wanted`` of ``data``, both (channels, numbers); None if there are none.

    They have no limits that nothing reaches, and as few operations as possible otherwise.
    """
    numbers = data.reshape(1, *data.shape)
    for steps in _candidates(made, numbers, wanted.astype(np.int64)):
        if np.array_equal(applied(numbers, steps, made.arrays)[0], wanted):
            return steps
    return None


def _candidates(made: OutputSteps, numbers: Ints, wanted: Wide) -> list[Epilogue]:
    if not made.steps or not isinstance(made.steps[-1], Clip):
        return [made.steps]
    found = [_limited(made, made.steps[:-1], numbers, wanted)]
    match made.steps[-3:-1]:
        case (Add(), ShiftRight(bits=bits)):
            sums = applied(numbers, made.steps[:-3], made.arrays)[0].astype(np.int64)
            tails = [tail for tail in (_one_floor(sums, wanted, bits), _two_floors(sums, wanted, bits)) if tail]
            return [*found, *(_limited(made, (*made.steps[:-3], *tail), numbers, wanted) for tail in tails)]
        case _:
            return found


def _limited(made: OutputSteps, steps: Epilogue, numbers: Ints, wanted: Wide) -> Epilogue:
    """Return ``steps`` with those limits that their results are beyond."""
    results = applied(numbers, steps, made.arrays)
    low, high = int(wanted.min()), int(wanted.max())
    limits = Clip(low if results.min() < low else WORD[0], high if results.max() > high else WORD[1])
    return steps if limits == Clip(*WORD) else (*steps, limits)


def _one_floor(sums: Wide, wanted: Wide, bits: int) -> tuple[Step, ...] | None:
    summand = _summand(sums, wanted, bits, wanted)
    return None if summand is None else (Add(summand), ShiftRight(bits))


def _two_floors(sums: Wide, wanted: Wide, bits: int) -> tuple[Step, ...] | None:
    lower = _summand(sums, wanted >> 1, bits + 1, wanted)
    upper = _summand(sums, (wanted + 1) >> 1, bits + 1, wanted)
    if lower is None or upper is None:
        return None
    return (Add(lower), Fork(Joint.ADD, (Add(upper - lower), ShiftRight(bits + 1)), (ShiftRight(bits + 1),)))


def _summand(sums: Wide, floors: Wide, bits: int, wanted: Wide) -> int | None:
    """Return c such that ``sums + c >> bits`` is ``floors``, or beyond where the results are the last ones; or None."""
    least = ((floors << bits) - sums)[wanted > wanted.min()]
    most = (((floors + 1) << bits) - 1 - sums)[wanted < wanted.max()]
    if not least.size or not most.size or least.max() > most.min():
        return None
    middle = (int(least.max()) + int(most.min())) >> 1
    return middle if WORD[0] <= middle <= WORD[1] else None
