import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.executor.operators.names import Op
from runtime.executor.operators.types import RelayError, TensorType
from tests.support.relay.random_floats import random_graph
from tests.support.relay.same_meaning import assert_same_meaning
from vta.relay.ir.module import IRModule
from vta.relay.ir.nodes import Function, GlobalVar, Let, Tuple, TupleGetItem, Var
from vta.relay.ir.traverse import free_vars, post_order
from vta.relay.ops.call import call, call_function, call_global
from vta.relay.transform.eliminate_dead_code import eliminate_dead_code, eliminate_dead_functions

X, Y, V = (Var(name, TensorType((2,), "float32")) for name in ("x", "y", "v"))


def test_a_let_that_nothing_reads_goes_with_its_value() -> None:
    body = Let(V, call(Op.EXP, [X]), TupleGetItem(Tuple((X, Y)), 1))
    assert eliminate_dead_code(Function((X, Y), body)).body is Y


def test_a_let_that_only_a_dead_one_reads_goes_too() -> None:
    w = Var("w", X.type)
    body = Let(V, call(Op.EXP, [X]), Let(w, call(Op.EXP, [V]), X))
    assert eliminate_dead_code(Function((X,), body)).body is X


def test_what_is_read_stays_the_same_object() -> None:
    function = Function((X,), Let(V, call(Op.EXP, [X]), call(Op.ADD, [V, X])))
    assert eliminate_dead_code(function) is function


def test_functions_that_nothing_calls_go() -> None:
    leaf = Function((V,), call(Op.EXP, [V]))
    middle = Function((V,), call_global(GlobalVar("leaf"), leaf, [V]))
    inner = Function((V,), call_global(GlobalVar("middle"), middle, [V]))
    main = Function((X,), call_function(inner, [X]))
    module = IRModule({"dead": leaf, "main": main, "leaf": leaf, "middle": middle})
    assert list(eliminate_dead_functions(module).functions) == ["main", "leaf", "middle"]
    assert list(eliminate_dead_functions(module, ("dead",)).functions) == ["dead"]
    with pytest.raises(RelayError, match=r"^the module has no function 'other'; it has dead, main, leaf, middle$"):
        eliminate_dead_functions(module, ("other",))


@given(seed=st.integers(0, 2**32))
@settings(max_examples=30)
def test_random_graphs_mean_the_same(seed: int) -> None:
    graph = random_graph(seed, with_lets=True)
    after = eliminate_dead_code(graph.function)
    assert_same_meaning(graph, after, exact=True)
    lets = [expr for expr in post_order(after.body) if isinstance(expr, Let)]
    assert all(let.var in free_vars(let.body) for let in lets)
