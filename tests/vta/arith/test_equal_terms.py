"""Expressions that compute the same."""

from vta.arith.equal_terms import canonical, equal_terms
from vta.arith.simplify import Analyzer
from vta.tir import ops
from vta.tir.buffer import decl_buffer
from vta.tir.expr import BufferLoad, Select, Var

X, Y = Var("x"), Var("y")
A, B = decl_buffer((4,), "float32", "A"), decl_buffer((4,), "float32", "B")


class Renaming:
    """A stands for B, at the same places, from the first time on."""

    def __init__(self) -> None:
        self.pairs: dict[object, object] = {}

    def pair(self, own: BufferLoad, other: BufferLoad) -> bool:
        return self.pairs.setdefault(own.buffer, other.buffer) is other.buffer and own.indices == other.indices

    def known(self) -> object:
        return dict(self.pairs)

    def forget(self, known: object) -> None:
        assert isinstance(known, dict)
        self.pairs = dict(known)


def equal(a: object, b: object, loads: Renaming | None = None) -> bool:
    analyzer = Analyzer()
    return equal_terms(canonical(a, analyzer), canonical(b, analyzer), analyzer, loads)  # type: ignore[arg-type]


def test_operands_come_in_any_order() -> None:
    a, b = A.load(X), B.load(Y)
    assert equal(a * b + a, a + b * a)
    assert equal(ops.min(a, b), ops.min(b, a))
    assert not equal(a - b, b - a)
    assert equal((X + 1) * 2 < Y, (Y > X * 2 + 2))


def test_a_choice_is_written_in_one_way() -> None:
    a = A.load(X)
    assert equal(Select((X < 3).asexpr(), a, a + 1), ops.if_then_else(ops.likely(X < 3), a, 1 + a))
    assert not equal(Select((X < 3).asexpr(), a, a + 1), Select((X < 4).asexpr(), a, a + 1))


def test_loads_stand_for_each_other_and_wrong_guesses_are_forgotten() -> None:
    loads = Renaming()
    c = decl_buffer((4,), "float32", "C")
    d = decl_buffer((4,), "float32", "D")
    assert equal(A.load(X) * B.load(Y), d.load(Y) * c.load(X), loads)
    assert loads.pairs == {A: c, B: d}
    assert not equal(A.load(X) + B.load(X), d.load(X) + d.load(X), loads)
    assert not equal(A.load(X), c.load(Y), loads)
