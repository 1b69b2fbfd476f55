"""Caches of results, and pads of pictures."""

import pytest

from vta import te
from vta.compat.small_names import PadError, RelayPart, get_pad_tuple2d, memoize, traverse_inline


def test_results_are_computed_once() -> None:
    calls: list[int] = []

    @memoize("a.key")
    def doubled(x: int) -> int:
        calls.append(x)
        return 2 * x

    assert [doubled(2), doubled(2), doubled(3)] == [4, 4, 6]
    assert calls == [2, 3]
    assert doubled.__name__ == "doubled"


def test_pads_of_one_two_or_four_numbers() -> None:
    assert get_pad_tuple2d(1) == (1, 1, 1, 1)
    assert get_pad_tuple2d((1, 2)) == (1, 2, 1, 2)
    assert get_pad_tuple2d([1, 2, 3, 4]) == (1, 2, 3, 4)
    with pytest.raises(PadError) as error:
        get_pad_tuple2d((1, 2, 3))
    assert str(error.value) == "get_pad_tuple2d: expected one, two or four numbers, got [1, 2, 3]"


def test_element_wise_stages_are_inlined_up_to_the_rest() -> None:
    x = te.placeholder((8,), name="x")
    k = te.reduce_axis((0, 8), "k")
    total = te.compute((8,), lambda i: te.sum(x[k] * i, axis=k), "total", tag="comm_reduce")
    more = te.compute((8,), lambda i: total[i] + 1.0, "more", tag="elemwise")
    last = te.compute((8,), lambda i: more[i] * 2.0, "last", tag="elemwise")
    s = te.create_schedule(last.op)
    seen: list[str] = []
    traverse_inline(s, last.op, lambda op: seen.append(op.name))
    assert seen == ["total", "more", "last"]
    assert [s[tensor].is_inlined for tensor in (total, more, last)] == [False, True, False]


def test_parts_of_relay_have_a_name() -> None:
    assert (RelayPart("cpp").name, RelayPart("graph", {"link-params": True}).options) == ("cpp", {"link-params": True})
