import pytest

from runtime.executor.operators.types import RelayError, TensorType
from vta.relay.ir.module import IRModule
from vta.relay.ir.nodes import Function, Var

X = Var("x", TensorType((2,), "int8"))


def test_a_module_gives_its_functions_by_name() -> None:
    first, second = Function((X,), X), Function((X,), X)
    module = IRModule.from_expr(first)
    larger = module.with_function("f", second)
    assert (larger["main"], larger["f"]) == (first, second)
    assert list(module.functions) == ["main"]
    assert str(larger).count("def @") == 2


@pytest.mark.parametrize(("names", "listed"), [([], "none"), (["main", "f"], "main, f")])
def test_a_function_that_a_module_does_not_have_is_refused(names: list[str], listed: str) -> None:
    module = IRModule({name: Function((X,), X) for name in names})
    with pytest.raises(RelayError, match=f"^the module has no function 'g'; it has {listed}$"):
        module["g"]
