"""Types of variables, under TVM's names."""

from vta.tir.expr import PointerType, PrimType, Var


def test_a_variable_may_be_given_a_type() -> None:
    kind = PointerType(PrimType("float"), "global.texture")  # type: ignore[arg-type]  # TVM's order
    pointer, number = Var("p", kind), Var("n", PrimType("int8"))  # type: ignore[arg-type]
    assert (pointer.dtype, number.dtype) == ("handle", "int8")
    assert pointer.type_annotation == kind
    assert (kind.element_type, kind.storage_scope) == (PrimType("float32"), "global.texture")  # type: ignore[arg-type]
    assert number.type_annotation == PrimType("int8")  # type: ignore[arg-type]
