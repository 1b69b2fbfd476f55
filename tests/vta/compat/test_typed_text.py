"""``str`` says types while TVM is answered for, and messages never do."""

from vta.compat.typed_text import typed_text
from vta.tir.expr import Var, const

X, Y = Var("x"), Var("y", "float32")  # type: ignore[arg-type]


def test_types_stand_where_a_variable_first_appears() -> None:
    expr = (X < 3) & (Y.astype("int32") < X + 1)
    plain = str(expr)
    with typed_text():
        assert str(expr) == "((x: int32 < 3) && (cast(int32, y: float32) < (x + 1)))"
        assert str(X >> 1) == "@tir.shift_right(x: int32, 1, dtype=int32)"
        assert f"{expr}" == plain
        assert str(const(5)) == "5"
    assert str(expr) == plain == "((x < 3) && (cast(int32, y) < (x + 1)))"
