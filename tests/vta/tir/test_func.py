"""Functions and modules."""

import pytest

from isa.config import VTAConfig
from vta.tir.buffer import decl_buffer
from vta.tir.expr import PlainInt, Var, const
from vta.tir.func import FunctionError, IRModule, PrimFunc
from vta.tir.printer import to_text
from vta.tir.stmt import Evaluate

n = Var("n")
FUNC = PrimFunc("main", (n,), Evaluate(n + 1), {})


def test_a_function_shows_itself_as_text() -> None:
    assert str(FUNC) == to_text(FUNC) == "@main = primfn(n: int32) -> () {\n  (n + 1)\n}\n"


def test_a_module_finds_functions_by_name() -> None:
    module = IRModule({"main": FUNC}, VTAConfig())
    assert module["main"] is FUNC
    assert str(module) == str(FUNC)
    with pytest.raises(KeyError) as error:
        module["other"]
    assert str(error.value) == "the module has no function 'other'; it has main"


def test_functions_do_not_share_attributes() -> None:
    other = PrimFunc("other", (), Evaluate(const(0)), {})
    assert FUNC.attrs == {}
    assert other.attrs is not FUNC.attrs


def test_a_function_takes_tvms_order_and_buffers_among_its_parameters() -> None:
    a = decl_buffer((8,), "int32", "A")
    func = PrimFunc([n, a], Evaluate(n), None, None, {"global_symbol": "f"})  # type: ignore[arg-type]
    assert [func.name, *(p.name for p in func.params)] == ["f", "n", "A"]
    assert list(func.buffer_map.values()) == [a]
    assert PrimFunc(params=[a], body=Evaluate(n)).name == "main"  # type: ignore[arg-type]
    with pytest.raises(FunctionError) as error:
        PrimFunc([n, 3], Evaluate(n))  # type: ignore[arg-type]
    assert str(error.value) == "PrimFunc: parameters are variables and buffers, not 3"
    with pytest.raises(FunctionError) as error:
        PrimFunc([n], n)  # type: ignore[arg-type]
    assert (
        str(error.value) == "PrimFunc takes parameters and a statement, not Var(name='n', dtype='int32', pointer=None)"
    )


def test_attributes_come_and_go_in_new_functions() -> None:
    named = FUNC.with_attr({"global_symbol": "g", "tir.noalias": True}).with_attr("x", 1)
    assert (named.name, dict(named.attrs)) == ("g", {"global_symbol": "g", "tir.noalias": True, "x": 1})
    assert "x" not in named.without_attr("x").attrs
    assert FUNC.attrs == {}
    assert FUNC.with_body(Evaluate(const(1))).params is FUNC.params


def test_a_module_has_its_own_table_that_can_be_changed() -> None:
    table = {"main": FUNC}
    module = IRModule(table)
    module["other"] = FUNC.with_attr("global_symbol", "other")
    assert (list(table), list(module.functions), len(module)) == (["main"], ["main", "other"], 2)
    assert module.get_global_vars() == ["main", "other"]
    assert [name for name, _ in module.items()] == ["main", "other"]
    empty = IRModule()
    empty.update(module)
    assert "other" in empty
    assert list(IRModule.from_expr(FUNC).functions) == ["main"]
    with pytest.raises(FunctionError) as error:
        module["x"] = 3  # type: ignore[assignment]
    assert str(error.value) == "a module holds functions (tir.PrimFunc), not int"
    with pytest.raises(FunctionError) as error:
        module[3] = FUNC  # type: ignore[index]
    assert str(error.value) == "functions of a module go by names, not 3"


def test_a_module_of_one_function_calls_it_main_unless_it_has_a_global_symbol() -> None:
    named = PrimFunc("copy", (), Evaluate(const(0)))
    assert list(IRModule.from_expr(named).functions) == ["main"]
    assert list(IRModule.from_expr(named.with_attr("global_symbol", "f")).functions) == ["f"]


def test_texts_have_tvms_name() -> None:
    func = PrimFunc([Var("x")], Evaluate(const(0)))  # type: ignore[arg-type]
    module = IRModule({"main": func})
    assert (func.astext(), module.astext()) == (str(func), str(module))


def test_facts_about_a_module() -> None:
    module = IRModule({}, attrs={"flag": 1}).with_attr("x", "y")
    assert (module.get_attr("flag"), module.attrs["x"], module.get_attr("z")) == (1, "y", None)
    func = PrimFunc("f", (), Evaluate(const(0)))
    assert func.same_as(func)
    assert not func.same_as(PrimFunc("f", (), Evaluate(const(0))))
    assert func.body.same_as(func.body)
    assert not func.body.same_as(Evaluate(const(0)))


def test_numbers_of_attributes_say_their_value() -> None:
    func = PrimFunc("f", (), Evaluate(const(0))).with_attr({"calling_conv": 1, "flag": True})
    value = func.attrs["calling_conv"]
    assert isinstance(value, PlainInt)
    assert (value.value, value, func.attrs["flag"]) == (1, 1, True)
