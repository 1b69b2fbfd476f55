"""Which values a knob has: ways to split an extent, to order loops, to annotate them.

The first value is the plainest: inner extents of one, the order as it was named, no annotation.
Tests: tests/vta/autotvm/space/test_policies.py.
"""

from collections.abc import Iterator, Sequence
from itertools import permutations, product
from math import prod

from vta.autotvm.space.errors import SpaceError

__all__ = ["ANNOTATIONS", "annotations", "orders", "splits"]

ANNOTATIONS = ("unroll", "try_unroll", "try_vec", "try_unroll_vec", "unroll_vec")
_SPLITS = ("factors", "power2", "verbose", "candidate")
_ORDERS = ("all", "identity", "candidate")


def splits(
    name: str,
    extent: int,
    policy: str,
    outputs: int,
    *,
    max_factor: int | None = None,
    no_tail: bool = False,
    candidate: Sequence[Sequence[int]] = (),
) -> list[tuple[int, ...]]:
    """Return the ways to split ``extent`` in ``outputs`` loops: inner extents behind -1.

    With "factors" their product divides the extent; "power2" has powers of two, "verbose" both, and of these the last
    round may be incomplete unless ``no_tail``. "candidate" has those that are given.
    """
    if outputs < 2:
        raise SpaceError(f"define_split {name!r}: num_outputs is 2 or more, not {outputs}")
    if extent < 1:
        raise SpaceError(f"define_split {name!r}: a loop has 1 or more iterations, not {extent}")
    if policy == "candidate":
        return [_given(name, sizes, outputs) for sizes in candidate]
    if policy not in _SPLITS:
        raise SpaceError(f"define_split {name!r}: policy is one of {', '.join(_SPLITS)}, not {policy!r}")
    dividing = no_tail or policy == "factors"
    most = extent if max_factor is None else min(extent, max_factor)
    sizes = [size for size in _sizes(extent, policy) if size <= most]
    return [(-1, *inner) for inner in _inner(sizes, outputs - 1, extent, dividing=dividing)]


def _inner(sizes: Sequence[int], count: int, extent: int, *, dividing: bool) -> Iterator[tuple[int, ...]]:
    for inner in product(sizes, repeat=count):
        whole = prod(inner)
        if extent % whole == 0 if dividing else whole <= extent:
            yield inner


def _sizes(extent: int, policy: str) -> list[int]:
    divisors = {size for size in range(1, extent + 1) if extent % size == 0} if policy != "power2" else set()
    powers = {1 << bit for bit in range(extent.bit_length())} if policy != "factors" else set()
    return sorted(divisors | powers)


def _given(name: str, sizes: Sequence[int], outputs: int) -> tuple[int, ...]:
    if len(sizes) != outputs or any(size < 1 for size in sizes[1:]):
        raise SpaceError(
            f"define_split {name!r}: a candidate is -1 and {outputs - 1} inner extents from 1, not {list(sizes)}"
        )
    return (-1, *sizes[1:])


def orders(name: str, count: int, policy: str, *, candidate: Sequence[Sequence[int]] = ()) -> list[tuple[int, ...]]:
    """Return the orders of ``count`` loops: all, the one that there is, or those that are given."""
    match policy:
        case "all":
            return list(permutations(range(count)))
        case "identity":
            return [tuple(range(count))]
        case "candidate":
            for order in candidate:
                if sorted(order) != list(range(count)):
                    raise SpaceError(
                        f"define_reorder {name!r}: a candidate has each of the places 0 to {count - 1} once, "
                        f"not {list(order)}"
                    )
            return [tuple(order) for order in candidate]
        case _:
            raise SpaceError(f"define_reorder {name!r}: policy is one of {', '.join(_ORDERS)}, not {policy!r}")


def annotations(name: str, count: int, policy: str) -> list[tuple[str, ...]]:
    """Return what may be done with ``count`` loops.

    "unroll" unrolls all. "try_unroll" unrolls none, the last, the last two, ...; "try_vec" may vectorise the last, and
    "try_unroll_vec" do both. "unroll_vec" vectorises the last and unrolls the others.
    """
    if count < 1:
        raise SpaceError(f"define_annotate {name!r}: there are no loops to annotate")
    unrolled = [("none",) * (count - n) + ("unroll",) * n for n in range(count + 1)]
    inner = [("none",) * (count - 1 - n) + ("unroll",) * n + ("vec",) for n in range(count)]
    match policy:
        case "unroll":
            return [("unroll",) * count]
        case "try_unroll":
            return unrolled
        case "try_vec":
            return [unrolled[0], inner[0]]
        case "try_unroll_vec":
            return [*unrolled, *inner]
        case "unroll_vec":
            return [inner[-1]]
        case _:
            raise SpaceError(f"define_annotate {name!r}: policy is one of {', '.join(ANNOTATIONS)}, not {policy!r}")
