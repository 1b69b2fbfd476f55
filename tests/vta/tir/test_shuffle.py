"""Shuffle: lanes of vectors in any order, on the interpreter, compiled, as text and as JSON."""

from random import Random

import numpy as np
import pytest

from tests.support.runtime.host_call import call_host
from vta.passes.host.vectors import has_vectors
from vta.tir.buffer import Buffer, decl_buffer
from vta.tir.dtype import HANDLE
from vta.tir.expr import Broadcast, BufferLoad, Expr, ExprError, IntImm, Ramp, Shuffle, Var, const, same
from vta.tir.func import PrimFunc
from vta.tir.interpreter.expressions import lane
from vta.tir.interpreter.run import run_func
from vta.tir.json_text import load_json, save_json
from vta.tir.script import from_source
from vta.tir.stmt import BufferStore, seq
from vta.tir.structural import require_equal, structural_hash
from vta.tir.traverse import substitute
from vta.tir.verify import verify

SIZE = 16
INPUT, OUTPUT = decl_buffer((SIZE,), "int32", "A"), decl_buffer((SIZE,), "int32", "B")


def read(first: int, lanes: int) -> BufferLoad:
    index = const(first) if lanes == 1 else Ramp(const(first), const(1), lanes)
    return BufferLoad(INPUT, (index,))


def function(*stores: BufferStore) -> PrimFunc:
    a, b = Var("a", HANDLE), Var("b", HANDLE)
    return PrimFunc("f", (a, b), seq(stores), {a: INPUT, b: OUTPUT})


def store(value: Expr, first: int = 0, buffer: Buffer = OUTPUT) -> BufferStore:
    lanes = value.dtype.lanes
    return BufferStore(buffer, value, (const(first) if lanes == 1 else Ramp(const(first), const(1), lanes),))


def test_lanes_count_through_all_vectors() -> None:
    value = Shuffle((read(0, 4), read(8, 1), read(4, 2)), (6, IntImm(0), 4))
    assert value.indices == (6, 0, 4)
    assert value.dtype == "int32x3"
    assert str(value) == "shuffle([A[ramp(0, 1, 4)], A[8], A[ramp(4, 1, 2)]], [6, 0, 4])"
    assert [value.source(k)[1] for k in range(3)] == [1, 0, 0]
    assert Shuffle((read(0, 4),), (2,)).dtype == "int32"
    assert same(lane(value, 0), BufferLoad(INPUT, (const(5),)))


@pytest.mark.parametrize("seed", range(20))
def test_random_shuffles_are_what_numpy_takes(seed: int) -> None:
    rng = Random(f"shuffle {seed}")

    def made(depth: int) -> tuple[Expr, np.ndarray]:
        parts: list[Expr] = []
        values: list[np.ndarray] = []
        for _ in range(rng.randint(1, 3)):
            if depth and rng.random() < 0.5:
                expr, numbers = made(depth - 1)
            else:
                lanes = rng.randint(1, 5)
                first = rng.randint(0, SIZE - lanes)
                expr, numbers = read(first, lanes), data[first : first + lanes]
            if lanes_of(expr) > 1 and rng.random() < 0.4:
                expr, numbers = expr * Broadcast(const(3), lanes_of(expr)), numbers * 3
            parts.append(expr)
            values.append(numbers)
        every = np.concatenate(values)
        chosen = [rng.randrange(len(every)) for _ in range(rng.randint(1, 8))]
        return Shuffle(tuple(parts), tuple(chosen)), every[chosen]

    data = np.random.default_rng(seed).integers(-99, 99, SIZE).astype(np.int32)
    value, expected = made(2)
    func = function(store(value, 3))
    verify(func)
    for run in (lambda out: run_func(func, [data, out]), lambda out: call_host(func, data, out)):
        out = np.zeros(SIZE, np.int32)
        run(out)
        np.testing.assert_array_equal(out[3 : 3 + len(expected)], expected)
        assert not out[:3].any()
        assert not out[3 + len(expected) :].any()


def lanes_of(expr: Expr) -> int:
    return expr.dtype.lanes


def test_text_and_json_give_it_back() -> None:
    func = function(store(Shuffle((read(0, 2), read(8, 1)), (2, 1))), store(Shuffle((read(0, 2),), (1,)), 5))
    assert "T.Shuffle([A[T.ramp(0, 1, 2)], A[8]], [2, 1])" in func.script()
    require_equal(from_source(func.script()), func)
    require_equal(load_json(save_json(func)), func)
    other = function(store(Shuffle((read(0, 2), read(8, 1)), (2, 0))), store(Shuffle((read(0, 2),), (1,)), 5))
    assert structural_hash(other) != structural_hash(func)


def test_it_is_walked_and_is_a_vector_for_passes() -> None:
    x, y = Var("x"), Var("y")
    value = Shuffle((x + 1, y), (1, 0))
    assert same(substitute(value, {x: y}), Shuffle((y + 1, y), (1, 0)))
    assert substitute(value, {Var("z"): y}) is value
    assert has_vectors(store(Shuffle((x, y), (1,))))


@pytest.mark.parametrize(
    ("vectors", "indices", "sentence"),
    [
        ((), (0,), "Shuffle takes vectors of one type and one index or more, not none and 1 indices"),
        ((const(1),), (), "Shuffle takes vectors of one type and one index or more, not int32 and 0 indices"),
        ((const(1), const(2)), (2,), "Shuffle: there is no lane 2; the vectors have 2 lanes"),
        ((const(1),), (-1,), "Shuffle: there is no lane -1; the vectors have 1 lanes"),
        ((const(1),), (Var("i"),), "Shuffle: expected a constant as the number of a lane, got i"),
    ],
)
def test_what_names_no_lane_is_refused(vectors: tuple[Expr, ...], indices: tuple[int, ...], sentence: str) -> None:
    with pytest.raises(ExprError) as error:
        Shuffle(vectors, indices)
    assert str(error.value) == sentence
