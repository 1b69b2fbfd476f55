import numpy as np

from runtime.executor.operators.convolution import Conv2dAttrs
from runtime.executor.operators.elementwise import ClipAttrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.padding import PadAttrs, PadMode
from runtime.executor.operators.types import AnyDim, TensorType
from vta.relay.ir.module import IRModule
from vta.relay.ir.nodes import (
    Constant,
    Function,
    FunctionAttrs,
    GlobalVar,
    Let,
    Tuple,
    TupleGetItem,
    Var,
    constant,
)
from vta.relay.ir.origin import Origin
from vta.relay.ops.call import call, call_function, call_global
from vta.relay.text.printer import text_and_constants, to_text

X = Var("x", TensorType((1, 2, 4, 4), "float32"))


def test_every_node_has_a_line_and_what_is_shared_has_one() -> None:
    weight = Constant(np.zeros((2, 2, 3, 3), np.float32), "w")
    conv = call(Op.CONV2D, [X, weight], Conv2dAttrs(padding=(1, 1, 1, 1)), (Origin("conv1", "Conv"), Origin("a b")))
    pair = Tuple((conv, constant([1.5, -0.1], "float32")))
    root = call(Op.ADD, [TupleGetItem(pair, 0), call(Op.CLIP, [conv], ClipAttrs(a_min=0))])
    text, constants = text_and_constants(Function((X,), root))
    assert (
        text
        == """\
fn (%x: Tensor[(1, 2, 4, 4), float32]) -> Tensor[(1, 2, 4, 4), float32] {
  %0: Tensor[(1, 2, 4, 4), float32] = nn.conv2d(%x, const<float32[2, 2, 3, 3]>(#0, "w"), padding=(1, 1, 1, 1)) \
from Conv "conv1", "a b";
  %1: (Tensor[(1, 2, 4, 4), float32], Tensor[(2,), float32]) = (%0, const<float32[2]>([1.5, -0.1]));
  %2: Tensor[(1, 2, 4, 4), float32] = %1[0];
  %3: Tensor[(1, 2, 4, 4), float32] = clip(%0, a_min=0);
  %4: Tensor[(1, 2, 4, 4), float32] = add(%2, %3);
  %4
}"""
    )
    assert [each is weight.value for each in constants] == [True]


def test_functions_stand_within_functions_and_in_modules() -> None:
    p = Var("p", X.type)
    inner = Function((p,), call(Op.RELU, [p]), FunctionAttrs(primitive=True, name="fused"))
    main = Function((X,), call_global(GlobalVar("g"), inner, [call_function(inner, [X], (Origin("r"),))]))
    assert (
        to_text(IRModule({"main": main, "g": inner}))
        == """\
def @main(%x: Tensor[(1, 2, 4, 4), float32]) -> Tensor[(1, 2, 4, 4), float32] {
  %0: Tensor[(1, 2, 4, 4), float32] = fn [primitive=True, name="fused"](%p: Tensor[(1, 2, 4, 4), float32]) -> \
Tensor[(1, 2, 4, 4), float32] {
    %0: Tensor[(1, 2, 4, 4), float32] = nn.relu(%p);
    %0
  }(%x) from "r";
  %1: Tensor[(1, 2, 4, 4), float32] = @g(%0);
  %1
}

def @g[primitive=True, name="fused"](%p: Tensor[(1, 2, 4, 4), float32]) -> Tensor[(1, 2, 4, 4), float32] {
  %0: Tensor[(1, 2, 4, 4), float32] = nn.relu(%p);
  %0
}"""
    )


def test_lets_come_before_what_reads_them() -> None:
    v, w = Var("v", X.type), Var("w", X.type)
    inner = Let(v, call(Op.EXP, [X]), call(Op.ABS, [v]))
    root = call(Op.ADD, [inner, Let(w, X, w)])
    kind = "Tensor[(1, 2, 4, 4), float32]"
    assert to_text(root) == (
        f"%0: {kind} = exp(%x);\nlet %v: {kind} = %0;\nlet %w: {kind} = %x;\n%1: {kind} = abs(%v);\n"
        f"%2: {kind} = add(%1, %w);\n%2"
    )


def test_names_are_made_different_and_hostile_ones_are_quoted() -> None:
    kind = TensorType((), "int8")
    params = tuple(Var(name, kind) for name in ("x", "x", "x_1", "a b", "0", "inf", "\x1b[31m", "é"))
    text = to_text(Function(params, params[0]))
    names = [part.split(":")[0] for part in text.split("%")[1:9]]
    assert names == ["x", "x_1", "x_1_1", '"a b"', '"0"', '"inf"', '"\\u001b[31m"', '"\\u00e9"']


def test_numbers_are_exact() -> None:
    values = np.array([0.1, np.inf, -np.inf, np.nan, -0.0, 1e-45, 3e38], np.float32)
    assert to_text(Constant(values)) == "const<float32[7]>([0.1, inf, -inf, nan, -0.0, 1e-45, 3e+38])"
    # Not every number in between is written alike by numpy before 2.3 and since.
    rounded = to_text(Constant(np.array([16777217], np.float32)))
    assert rounded in ("const<float32[1]>([1.6777216e+07])", "const<float32[1]>([16777216.0])")
    assert to_text(constant([[True], [False]], "bool")) == "const<bool[2, 1]>([[True], [False]])"
    assert to_text(constant(2**63, "uint64")) == "const<uint64>(9223372036854775808)"
    assert to_text(Constant(np.zeros((0, 3), np.int8))) == "const<int8[0, 3]>([])"


def test_attributes_that_have_their_default_are_left_out() -> None:
    padded = call(Op.PAD, [X], PadAttrs(((0, 0), (0, 0), (1, 1), (2, 2)), pad_mode=PadMode.EDGE))
    assert 'nn.pad(%x, pad_width=((0, 0), (0, 0), (1, 1), (2, 2)), pad_mode="edge");' in to_text(padded)
    assert "nn.relu(%x);" in to_text(call(Op.RELU, [X]))


def test_unknown_dimensions_have_their_names() -> None:
    batch = Var("data", TensorType((AnyDim("N"), AnyDim(), AnyDim("a b")), "int8"))
    assert to_text(Function((batch,), batch)).startswith('fn (%data: Tensor[(?N, ?, ?"a b"), int8])')


def test_functions_and_modules_show_their_text() -> None:
    function = Function((X,), X)
    assert str(function) == to_text(function)
    assert str(IRModule.from_expr(function)) == to_text(IRModule.from_expr(function))
