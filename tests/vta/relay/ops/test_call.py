import pytest

from runtime.executor.operators.broadcast import AxisAttrs
from runtime.executor.operators.elementwise import ClipAttrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.types import AnyDim, RelayError, TensorType
from vta.relay.ir.nodes import Function, GlobalVar, Tuple, Var, constant
from vta.relay.ir.origin import Origin
from vta.relay.ops.call import call, call_function, call_global, with_args

X = Var("x", TensorType((2, 3), "float32"))
THREE = constant([1, 2, 3], "float32")
NODE = (Origin("n1", "Add"),)


def test_a_call_has_the_type_that_its_operator_returns() -> None:
    node = call(Op.ADD, [X, THREE], origins=NODE)
    assert (node.type, node.args, node.origins) == (X.type, (X, THREE), NODE)


def test_attributes_that_are_not_given_have_their_defaults() -> None:
    assert call(Op.CLIP, [X]).attrs == ClipAttrs()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: call(Op.ADD, [X], origins=NODE), "add (from Add 'n1'): expected lhs, rhs, got 1 inputs"),
        (lambda: call(Op.CAST, [X], origins=NODE), "cast (from Add 'n1'): its attributes have no defaults; give them"),
        (lambda: call(Op.RELU, [X], ClipAttrs()), "nn.relu: expected attributes NoAttrs, got ClipAttrs"),
        (
            lambda: call(Op.ADD, [X, Tuple((X,))]),
            "add: rhs is a tensor, not a tuple, (Tensor[(2, 3), float32],); take one of its values",
        ),
        (
            lambda: call(Op.RELU, [Var("in", TensorType((AnyDim("N"), 3), "int8"))], origins=NODE),
            "nn.relu (from Add 'n1'): input 0, Tensor[(?N, 3), int8], has the unknown dimension ?N; "
            "give 'in' a shape",
        ),
    ],
)  # fmt: skip
def test_what_an_operator_does_not_take_is_refused_by_name(make: object, sentence: str) -> None:
    with pytest.raises(RelayError) as error:
        make()
    assert str(error.value) == sentence


def test_a_function_takes_what_its_parameters_are() -> None:
    function = Function((X,), call(Op.RELU, [X]))
    assert call_function(function, [X]).type == X.type
    assert call_global(GlobalVar("f"), function, [X]).callee == GlobalVar("f")
    with pytest.raises(RelayError) as error:
        call_function(function, [THREE], NODE)
    assert str(error.value) == (
        "a function (from Add 'n1'): expected (Tensor[(2, 3), float32]), got (Tensor[(3,), float32])"
    )


def test_other_arguments_give_another_type() -> None:
    old = call(Op.BIAS_ADD, [X, THREE], AxisAttrs(1), NODE)
    assert with_args(old, [X, THREE]) is old
    other = Var("z", TensorType((5, 3), "float32"))
    new = with_args(old, [other, THREE])
    assert (new.type, new.attrs, new.origins) == (other.type, AxisAttrs(1), NODE)
    function = Function((X,), X)
    same = Var("same", X.type)
    assert with_args(call_function(function, [X]), [same]).args == (same,)
    with pytest.raises(RelayError, match=r"^a function: expected \(Tensor"):
        with_args(call_function(function, [X]), [THREE])
    with pytest.raises(RelayError, match=r"^@f \(from Add 'n1'\): the types of its arguments changed$"):
        with_args(call_global(GlobalVar("f"), function, [X], NODE), [THREE])
