"""What walks over expressions and statements, on deep ones and on such that share their parts."""

import pytest

from tests.support.compiler.tir_build import buffer, loop, store
from vta.arith.simplify import simplify
from vta.tir.dtype import HANDLE
from vta.tir.expr import Add, BufferLoad, Expr, FloatImm, IntImm, Mul, Not, Select, Var, const, same, structural_hash
from vta.tir.func import PrimFunc
from vta.tir.printer import to_text
from vta.tir.stmt import For, IfThenElse, LetStmt, Stmt
from vta.tir.structural import first_difference, structural_equal
from vta.tir.traverse import free_vars, map_expr, map_stmt, substitute, uses_var, walk
from vta.tir.verify import verify

TERMS = 10_000
NESTED = 2_000
A, X, Y = buffer("A", [TERMS]), Var("x"), Var("y")


def program(body: Stmt) -> PrimFunc:
    handle = Var("handle", HANDLE)
    return PrimFunc("program", (handle, X, Y), body, {handle: A})


def terms(var: Expr = X, count: int = TERMS) -> Expr:
    """A chain to the left, as Python makes it."""
    total: Expr = A.load(0)
    for number in range(1, count):
        total = Add(total, A.load(var + number))
    return total


def right(last: Expr) -> Expr:
    """A chain to the right, of several kinds."""
    total = last
    for number in range(TERMS // 2):
        total = Select(const(number) > X, IntImm(number), Mul(IntImm(3), total))
    return total


def shared(times: int = 100) -> Expr:
    """An expression whose text would have 2**times terms."""
    value: Expr = A.load(X)
    for _ in range(times):
        value = Add(value, value)
    return value


def nest(last: Expr = X) -> Stmt:
    """Loops, lets and conditions inside of each other."""
    body = store(A, last, 0)
    for number in range(NESTED // 4):
        body = loop(
            Var("i"), 2, LetStmt(Var("v"), X + number, IfThenElse(const(number) > X, body, store(A, number, 1)))
        )
    return body


def test_a_chain_knows_its_type_at_every_length() -> None:
    assert terms().dtype == "int32"
    assert (terms() < terms()).dtype == "bool"
    value: Expr = X < 1
    for _ in range(TERMS):
        value = Not(value)
    assert value.dtype == "bool"


@pytest.mark.parametrize("make", [terms, right], ids=["left", "right"])
def test_deep_expressions_are_compared_and_hashed(make: type) -> None:
    x, y, other = make(X), make(X), make(Y)
    assert same(x, y)
    assert structural_hash(x) == structural_hash(y)
    assert not same(x, other)
    assert structural_equal(x, y)
    difference = first_difference(x, other)
    assert difference is not None
    assert "'x' does not correspond to 'y'" in difference


def test_deep_expressions_are_walked_mapped_and_substituted() -> None:
    expr = terms()
    assert sum(isinstance(node, BufferLoad) for node in walk(expr)) == TERMS
    assert map_expr(lambda node: node, expr) is expr
    assert same(substitute(expr, {X: Y}), terms(Y))
    assert uses_var(expr, X)
    assert set(free_vars(expr)) == {A.data, X}


def test_deep_expressions_are_printed_verified_and_simplified() -> None:
    text = to_text(terms(X, 3000))
    assert text.startswith("(" * 2999 + "A[0] + A[(x + 1)])")
    verify(program(store(A, terms(X, 3000), 0)))
    assert same(simplify(terms(X, 3000) - terms(X, 3000)), const(0))
    product: Expr = FloatImm(1.0)
    for number in range(3000):
        product = Mul(product, FloatImm(float(number)))
    assert simplify(product) is product


def test_deep_statements_are_printed_compared_mapped_and_verified() -> None:
    func = program(nest())
    verify(func)
    assert structural_equal(nest(), nest())
    assert not structural_equal(nest(), nest(Y))
    assert map_stmt(func.body, lambda stmt: stmt) is func.body
    assert sum(isinstance(node, For) for node in walk(func.body)) == NESTED // 4
    assert to_text(func.body).count("let v") == NESTED // 4


def test_what_an_expression_shares_is_looked_at_once() -> None:
    x, y = shared(), shared()
    assert same(x, y)
    assert structural_hash(x) == structural_hash(y)
    assert structural_equal(x, y)
    assert sum(1 for _ in walk(x)) == 100 + 2
    assert same(substitute(x, {X: IntImm(0)}), substitute(y, {X: IntImm(0)}))
    mapped: list[Expr] = []
    map_expr(lambda node: mapped.append(node) or node, x)  # type: ignore[func-returns-value]  # notes what it is given
    assert len(mapped) == 100 + 2
    verify(program(store(A, x, 0)))


def test_the_text_of_what_shares_its_parts_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vta.tir.expression_printer.MOST_NODES", 8)
    assert to_text(shared(3)) == "(((A[x] + A[x]) + (... + ...)) + ...)"
