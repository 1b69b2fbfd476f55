"""Models that are small and stand for much, or for nothing that ends: a sentence each, and no memory taken for them."""

import itertools
import re
import resource
from collections.abc import Iterator

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from isa.errors import VTAError
from tests.support.relay.onnx_models import model_of, node
from vta.environment import get_env
from vta.relay.backend.session import compile_model
from vta.relay.onnx.errors import OnnxError
from vta.relay.onnx.importer import from_onnx
from vta.relay.onnx.local_functions import MOST_NODES

X = {"x": ("float32", (1, 2))}
IMAGE = {"x": ("float32", (1, 1, 2, 2))}


@pytest.fixture(autouse=True)
def _little_memory() -> Iterator[None]:
    """Let nothing take more than two gigabytes beyond what the process has."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm", encoding="ascii") as file:
        pages = int(file.read().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (2 << 30), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def with_functions(*bodies: list[onnx.NodeProto]) -> onnx.ModelProto:
    """Return a model that calls ``f0``, whose functions have these bodies from ``a`` to ``b``."""
    model = model_of([helper.make_node("f0", ["x"], ["y"], domain="local")], X)
    model.opset_import.append(helper.make_opsetid("local", 1))
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("local", 1)]
    for number, nodes in enumerate(bodies):
        model.functions.append(helper.make_function("local", f"f{number}", ["a"], ["b"], nodes, imports))
    return model


def uses(name: str, times: int) -> list[onnx.NodeProto]:
    edges = ["a", *(f"t{number}" for number in range(times - 1)), "b"]
    return [helper.make_node(name, [x], [y], domain="local") for x, y in itertools.pairwise(edges)]


def nested_loops(depth: int) -> onnx.ModelProto:
    """Return loops of a thousand rounds within one another."""

    def body(level: int) -> onnx.GraphProto:
        names = [(f"i{level}", onnx.TensorProto.INT64, []), (f"c{level}", onnx.TensorProto.BOOL, []),
                 (f"v{level}", onnx.TensorProto.FLOAT, [1, 2])]  # fmt: skip
        work = (
            node("Relu", [f"v{level}"], f"o{level}")
            if level == 0
            else helper.make_node("Loop", ["n", "c", f"v{level}"], [f"o{level}"], name="inner", body=body(level - 1))
        )
        return helper.make_graph(
            [node("Identity", [f"c{level}"], f"d{level}"), work], "body",
            [helper.make_tensor_value_info(*each) for each in names],
            [helper.make_tensor_value_info(f"d{level}", onnx.TensorProto.BOOL, []),
             helper.make_tensor_value_info(f"o{level}", onnx.TensorProto.FLOAT, [1, 2])],
        )  # fmt: skip

    loop = helper.make_node("Loop", ["n", "c", "x"], ["y"], name="outer", body=body(depth))
    return model_of([loop], X, weights={"n": np.array(1000), "c": np.array(True)})


def numbers(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


KNOWN = [node("Tile", ["one", "r"], "t"), node("ReduceSum", ["t"], "s", keepdims=0), node("Cast", ["s"], "c", to=7),
         node("Unsqueeze", ["c", "z"], "u"), node("Expand", ["x", "u"], "y")]  # fmt: skip

SENTENCES = [
    (model_of([node("Relu", ["b"], "a"), node("Relu", ["a"], "b")], X, outputs=["b"]),
     "Relu 'a': it reads 'b', which nothing before it makes; the graph may have a cycle"),
    (model_of([node("Add", ["x", "a"], "a")], X),
     "Add 'a': it reads 'a', which nothing before it makes; the graph may have a cycle"),
    (model_of([node("Relu", ["x"], "y"), node("Exp", ["x"], "y")], X), "Exp 'y': it makes 'y', which was made before"),
    (with_functions(uses("f1", 1), uses("f2", 1), uses("f0", 1)), "its function 'f0' uses itself"),
    (with_functions(*(uses(f"f{number + 1}", 1) for number in range(150))),
     "its functions use one another more than 100 deep"),
    (with_functions(*(uses(f"f{number + 1}", 4) for number in range(20))),
     f"its functions stand for {4**20:,} nodes, and {MOST_NODES:,} are written out at most"),
    (nested_loops(2),
     f"Loop 'inner': its graphs stand for more than {MOST_NODES:,} nodes, which are not written out"),
    (model_of(KNOWN, X, weights={"one": np.ones((1, 1), np.float32), "r": numbers(1 << 20, 1 << 20), "z": numbers(0)}),
     "Expand 'y': input 1 is made of Tensor[(1048576, 1048576), float32], which is too large to be computed here"),
    (model_of([node("Split", ["x"], "y", num_outputs=1 << 40, axis=1)], X),
     "Split 'y': num_outputs is 1099511627776, and the node has 1 outputs"),
    (model_of([node("MaxPool", ["x"], "y", kernel_shape=[1 << 40, 1])], IMAGE),
     "nn.max_pool2d (from MaxPool 'y'): a window reaches over 1099511627776 rows, and the padded image has 2"),
    (model_of([node("Reshape", ["x", "s"], "y")], X, weights={"s": numbers(-5, 3)}),
     "reshape (from Reshape 'y'): newshape consists of sizes, of which one may be -1, not (-5, 3)"),
]  # fmt: skip


@pytest.mark.parametrize(("model", "text"), SENTENCES, ids=[str(number) for number in range(len(SENTENCES))])
def test_what_cannot_be_is_told_in_a_sentence(model: onnx.ModelProto, text: str) -> None:
    with pytest.raises(OnnxError, match=f"^{re.escape(text)}$"):
        from_onnx(model)


LARGE = {
    "expand": model_of([node("Expand", ["x", "s"], "y")], X, weights={"s": numbers(1 << 35, 2)}),
    "constant of shape": model_of([node("ConstantOfShape", ["s"], "c"), node("Add", ["x", "c"], "y")], X,
                                  weights={"s": numbers(1 << 40, 2)}),
    "pad": model_of([node("Pad", ["x", "p"], "y")], X, weights={"p": numbers(0, 0, 0, 1 << 36)}),
    "one hot": model_of([node("OneHot", ["i", "d", "v"], "y")], {"i": ("int64", (2,))},
                        weights={"d": np.array(1 << 36), "v": np.array([0, 1], np.float32)}),
    "resize": model_of([node("Resize", ["x", "", "s"], "y")], IMAGE,
                       weights={"s": np.array([1, 1, 1e5, 1e5], np.float32)}),
    "transposed": model_of([node("ConvTranspose", ["x", "w"], "y", strides=[100_000, 100_000])], IMAGE,
                           weights={"w": np.ones((1, 1, 1, 1), np.float32)}),
    "onnxruntime": model_of([node("CumSum", ["x", "a"], "s"), node("Expand", ["s", "b"], "y")], X,
                            weights={"a": np.array(0), "b": numbers(1 << 36, 2)}),
}  # fmt: skip


@pytest.mark.parametrize("name", LARGE)
def test_more_than_a_small_model_may_take_is_refused(name: str) -> None:
    with pytest.raises(VTAError, match=r" would take [\d,.]+ [GM]iB of memory, and the limit is 256 MiB") as caught:
        compile_model(LARGE[name], get_env(), jobs=1)
    assert "\n" not in str(caught.value)


def test_a_loop_whose_rounds_nobody_knows_is_not_given_to_onnxruntime() -> None:
    body = helper.make_graph(
        [node("Identity", ["c"], "d"), node("Relu", ["v"], "o")], "body",
        [helper.make_tensor_value_info("i", 7, []), helper.make_tensor_value_info("c", 9, []),
         helper.make_tensor_value_info("v", 1, [1, 2])],
        [helper.make_tensor_value_info("d", 9, []), helper.make_tensor_value_info("o", 1, [1, 2])],
    )  # fmt: skip
    loop = helper.make_node("Loop", ["", "go", "x"], ["y"], name="loop", body=body)
    model = model_of([loop], {**X, "go": ("bool", ())})
    with pytest.raises(OnnxError, match=r"^Loop 'loop': input 1 depends on the model's inputs"):
        from_onnx(model)
    choice = helper.make_graph([loop], "then", [], [helper.make_tensor_value_info("y", 1, [1, 2])])
    other = helper.make_graph([node("Relu", ["x"], "y")], "else", [], [helper.make_tensor_value_info("y", 1, [1, 2])])
    both = helper.make_node("If", ["go"], ["z"], name="if", then_branch=choice, else_branch=other)
    with pytest.raises(OnnxError, match=r"^If 'if': input 0 depends on the model's inputs"):
        from_onnx(model_of([both], {**X, "go": ("bool", ())}))


def test_a_tensor_that_lies_about_its_size_is_refused() -> None:
    tensor = numpy_helper.from_array(np.ones(4, np.float32), "w")
    tensor.dims[0] = 1 << 40
    model = model_of([node("Add", ["x", "w"], "y")], X)
    model.graph.initializer.append(tensor)
    with pytest.raises(OnnxError, match=r"tensor 'w' is damaged or of a type without numbers$"):
        from_onnx(model)
