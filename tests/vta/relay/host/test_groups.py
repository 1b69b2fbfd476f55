"""Which steps one function computes: those whose results nobody else reads, of one shape, where it pays."""

import numpy as np

from isa.config import VTAConfig
from runtime.executor.network import Home, HostStep, Network, Tensor
from tests.support.relay.random_host_steps import chain
from vta.relay.host.groups import PAYS, groups
from vta.relay.host.recipe import Leaf

IMAGE = (1, 4, 6, 6)


def network(
    *steps: tuple[str, str, str], outputs: tuple[str, ...] = ("y",), shapes: dict[str, tuple[int, ...]] | None = None
) -> Network:
    """Return steps "operator", "what it reads", "what it makes" on x, and on weights that are called w...."""
    names = dict.fromkeys(name for _, reads, made in steps for name in (*reads.split(), made))
    sizes = {**dict.fromkeys(names, IMAGE), **(shapes or {})}
    tensors = {
        name: Tensor(name, size, "float32", Home.HOST_CONSTANT if name.startswith("w") else Home.HOST)
        for name, size in sizes.items()
    }
    attributes = {"nn.max_pool2d": {"pool_size": (3, 3), "padding": (1, 1, 1, 1)}, "nn.conv2d": {"groups": 4}}
    return Network(
        config=VTAConfig(), tensors=tensors, inputs=("x",), outputs=outputs, arena_bytes=64,
        constants=np.zeros(0, np.uint8),
        host_constants={name: np.ones(size, np.float32) for name, size in sizes.items() if name.startswith("w")},
        steps=tuple(
            HostStep(made, operator, tuple(reads.split()), (made,), attributes.get(operator, {}))  # type: ignore[arg-type]
            for operator, reads, made in steps
        ),
    )  # fmt: skip


def found(of: Network) -> list[tuple[int, ...]]:
    return [group.steps for group in groups(of, pays=0)]


def test_a_chain_and_its_branches_are_one_group() -> None:
    assert found(network(("abs", "x", "a"), ("nn.relu", "a", "b"), ("multiply", "b a", "y"))) == [(0, 1, 2)]


def test_what_others_read_ends_a_group() -> None:
    steps = (("abs", "x", "a"), ("nn.relu", "a", "b"), ("exp", "a", "c"), ("add", "b c", "y"))
    assert found(network(*steps)) == [(0,), (1, 3)]
    assert found(network(("abs", "x", "a"), ("nn.relu", "a", "y"), outputs=("a", "y"))) == [(0,), (1,)]


def test_windows_begin_a_group_and_nothing_is_computed_again_for_each_place() -> None:
    steps = (("nn.relu", "x", "a"), ("nn.max_pool2d", "a", "b"), ("nn.relu", "b", "y"))
    first, second = groups(network(*steps), pays=0)
    assert (first.steps, second.steps) == ((0,), (1, 2))
    assert (first.recipe.is_head, second.recipe.is_head) == (False, True)
    two = (("nn.max_pool2d", "x", "a"), ("nn.max_pool2d", "x", "b"), ("add", "a b", "y"))
    assert found(network(*two)) == [(0,), (1, 2)]


def test_depthwise_convolutions_are_compiled_and_others_left_to_numpy() -> None:
    assert found(network(("nn.conv2d", "x w", "y"), shapes={"w": (4, 1, 1, 1)})) == [(0,)]
    wide = network(("nn.conv2d", "x w", "y"), shapes={"w": (8, 1, 1, 1), "y": (1, 8, 6, 6)})
    assert found(wide) == []


def test_other_shapes_are_not_computed_again_for_each_element() -> None:
    shapes = {"w": (4, 1, 1), "a": (4, 1, 1)}
    first, second = groups(network(("sqrt", "w", "a"), ("multiply", "x a", "y"), shapes=shapes), pays=0)
    assert (first.steps, second.steps) == ((0,), (1,))
    assert second.recipe.leaves == (Leaf(IMAGE, "float32"), Leaf((1, 4, 1, 1), "float32"))


def test_what_saves_too_little_is_left_to_numpy() -> None:
    rows = PAYS // 64
    assert [group.steps for group in groups(chain((rows, 64), "nn.relu", "abs"))] == [(0, 1)]
    assert groups(chain((rows - 1, 64), "nn.relu", "abs")) == []
    assert groups(chain((8 * rows, 64), "nn.relu")) == []


def test_values_that_are_read_twice_over_and_over_end_a_group() -> None:
    steps = [("add", f"t{number} t{number}", f"t{number + 1}") for number in range(1, 30)]
    sizes = [len(steps) for steps in found(network(("add", "x x", "t1"), *steps, outputs=("t30",)))]
    assert sum(sizes) == 30
    assert max(sizes) == 6


def test_shifts_that_no_processor_does_are_left_to_numpy() -> None:
    def rescale(narrow: int) -> Network:
        names = ("x", "bias", "narrow", "multiplier")
        tensors = {name: Tensor(name, (), "int32", Home.HOST_CONSTANT) for name in names[1:]}
        tensors |= {"x": Tensor("x", (8,), "int32"), "y": Tensor("y", (8,), "int8")}
        return Network(
            config=VTAConfig(), tensors=tensors, steps=(HostStep("y", "qnn.rescale", names, ("y",)),), inputs=("x",),
            outputs=("y",), arena_bytes=64, constants=np.zeros(0, np.uint8),
            host_constants={name: np.array(narrow if name == "narrow" else 1, np.int32) for name in names[1:]},
        )  # fmt: skip

    assert [found(rescale(narrow)) for narrow in (0, 31, 32, -1)] == [[(0,)], [(0,)], [], []]
