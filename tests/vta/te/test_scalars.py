from vta import te
from vta.tir.expr import Div, FloatImm, FloorDiv, FloorMod, IntImm


def test_a_constant_takes_its_type_from_its_value() -> None:
    assert isinstance(te.const(3), IntImm)
    assert te.const(3).dtype == "int32"
    assert isinstance(te.const(1.5), FloatImm)
    assert te.const(3, "int8").dtype == "int8"


def test_variables_are_new_each_time() -> None:
    assert te.var("n") is not te.var("n")
    assert (te.size_var("n").name, te.var("n", "int64").dtype) == ("n", "int64")


def test_the_divisions_differ_in_rounding() -> None:
    n = te.var("n")
    assert isinstance(te.div(n, 3), Div)
    assert isinstance(te.indexdiv(n, 3), FloorDiv)
    assert isinstance(te.indexmod(n, 3), FloorMod)
    assert int(te.div(-7, 2)) == -3
    assert te.div(te.const(1.0), 2).dtype == "float32"
