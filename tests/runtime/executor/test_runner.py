"""Running a compiled network: the same bits on every device, wherever its memory lies, and clear refusals."""

import re
import weakref

import numpy as np
import pytest

from isa.config import VTAConfig
from runtime.executor.network import Home, HostStep, Network, NetworkError, Tensor
from runtime.executor.runner import NetworkRunner, cycles_by_node
from runtime.session import Session, SessionError
from tests.support.configs import CONFIGS
from tests.support.runtime.small_networks import SmallNetwork, small_network


@pytest.fixture(scope="module")
def small() -> SmallNetwork:
    return small_network()


def says(text: str) -> str:
    return f"^{re.escape(text)}$"


def host_network(*steps: HostStep, tensors: tuple[Tensor, ...], outputs: tuple[str, ...] = ("y",)) -> Network:
    return Network(
        config=VTAConfig(), tensors={t.name: t for t in tensors}, steps=steps, inputs=("x",), outputs=outputs,
        arena_bytes=64, constants=np.zeros(0, np.uint8), host_constants={},
    )  # fmt: skip


@pytest.mark.parametrize("device", ["sim", "reference", "tsim"])
def test_a_network_gives_what_its_operator_says(small: SmallNetwork, device: str) -> None:
    runner = NetworkRunner(small.network, Session(small.network.config, device))
    for image in (small.image, np.zeros_like(small.image), small.image):
        result = runner.run({"image": image})["result"]
    np.testing.assert_array_equal(result, small.expected)
    [node] = runner.nodes
    assert (node.node, node.on_device, len(node.launches)) == ("conv", True, 1)
    assert (node.cycles is not None) == (device == "tsim")
    assert dict(cycles_by_node(runner.nodes)) == ({"conv": node.cycles} if device == "tsim" else {})


def test_two_networks_share_a_session_and_lie_anywhere(small: SmallNetwork) -> None:
    session = Session(small.network.config, "sim")
    session.memory.alloc(5000)
    runners = [NetworkRunner(each.network, session) for each in (small, small_network(arena_gap=12288))]
    for runner in (*runners, *runners):
        np.testing.assert_array_equal(runner.run({"image": small.image})["result"], small.expected)


def test_memory_is_given_back(small: SmallNetwork) -> None:
    session = Session(small.network.config, "sim")
    first = NetworkRunner(small.network, session)
    before = session.memory.alloc(1).address
    first.close()
    second = NetworkRunner(small.network, session)
    assert session.memory.alloc(1).address <= before + 8192
    with pytest.raises(NetworkError, match=says("the network's memory was given back: it was closed")):
        first.run({"image": small.image})
    np.testing.assert_array_equal(second.run({"image": small.image})["result"], small.expected)


def test_progress_and_every_tensor_are_shown(small: SmallNetwork) -> None:
    seen: list[object] = []
    runner = NetworkRunner(small.network, Session(small.network.config, "sim"))
    runner.run({"image": small.image}, progress=lambda *at: seen.append(at), watch=lambda name, _: seen.append(name))
    assert seen == [(0, "conv"), "image", "result"]


def test_steps_of_the_host_run_in_between_and_arrays_die_after_their_last_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tensors = tuple(Tensor(name, (2, 3), "int32") for name in ("x", "a", "y"))
    steps = (HostStep("n1", "add", ("x", "x"), ("a",)), HostStep("n2", "add", ("a", "a"), ("y",)))
    runner = NetworkRunner(host_network(*steps, tensors=tensors), Session(VTAConfig(), "reference"))
    made: dict[str, weakref.ref[np.ndarray]] = {}
    alive: list[bool] = []

    value_of = NetworkRunner._value

    def noted(self: NetworkRunner, tensor: Tensor, values: dict[str, np.ndarray]) -> np.ndarray:
        array = value_of(self, tensor, values)
        made[tensor.name] = weakref.ref(array)
        return array

    monkeypatch.setattr(NetworkRunner, "_value", noted)  # what is watched is a copy

    def progress(number: int, _: str) -> None:
        alive.append("a" in made and made["a"]() is not None)

    result = runner.run({"x": np.full((2, 3), 5, np.int32)}, watch=lambda *_: None, progress=progress)
    np.testing.assert_array_equal(result["y"], np.full((2, 3), 20))
    assert alive == [False, True]
    assert made["a"]() is None


def test_inputs_of_other_names_shapes_and_types_are_refused(small: SmallNetwork) -> None:
    runner = NetworkRunner(small.network, Session(small.network.config, "sim"))
    with pytest.raises(NetworkError, match=says("the network takes inputs image, not none")):
        runner.run({})
    with pytest.raises(NetworkError, match=says("the network takes inputs image, not image, y")):
        runner.run({"image": small.image, "y": small.image})
    with pytest.raises(
        NetworkError, match=r"^input 'image' is int8 of shape \(1, 2, 9, 7, 1, 16\), not float32 of shape"
    ):
        runner.run({"image": small.image.astype(np.float32)})


def test_another_configuration_is_refused(small: SmallNetwork) -> None:
    other = next(config for config in CONFIGS.values() if config != small.network.config)
    with pytest.raises(SessionError, match=r"^the network is for "):
        NetworkRunner(small.network, Session(other, "sim"))


def test_an_unknown_operator_is_refused_before_memory_is_taken() -> None:
    tensors = (Tensor("x", (1,), "int8"), Tensor("y", (1,), "int8"))
    network = host_network(HostStep("odd", "frobnicate", ("x",), ("y",)), tensors=tensors)
    session = Session(VTAConfig(), "reference")
    with pytest.raises(NetworkError, match=says("step 'odd' needs operator 'frobnicate', which is not here")):
        NetworkRunner(network, session)


def test_an_operator_that_makes_another_array_is_refused() -> None:
    tensors = (Tensor("x", (1,), "int8"), Tensor("y", (2,), "int8"))
    network = host_network(HostStep("odd", "copy", ("x",), ("y",)), tensors=tensors)
    message = "step 'odd', copy, makes Tensor[(1,), int8], and the network says Tensor[(2,), int8]"
    with pytest.raises(NetworkError, match=says(message)):
        NetworkRunner(network, Session(VTAConfig(), "reference"))


def test_a_host_step_can_write_into_the_arena() -> None:
    tensors = (Tensor("x", (4,), "int8"), Tensor("y", (4,), "int8", Home.ARENA, 32))
    network = host_network(HostStep("move", "copy", ("x",), ("y",)), tensors=tensors)
    runner = NetworkRunner(network, Session(VTAConfig(), "reference"))
    np.testing.assert_array_equal(runner.run({"x": np.arange(4, dtype=np.int8)})["y"], np.arange(4))


def test_what_the_host_took_from_the_arena_stays_when_others_use_that_memory() -> None:
    """The first tensor's page is given to another one, and then the host reads what it unpacked before."""
    plain = [Tensor(name, (1, 4, 1, 1), "int8") for name in ("x", "a", "y")]
    packed = [Tensor(name, (1, 1, 1, 1, 1, 16), "int8", Home.ARENA, 0) for name in ("first", "second")]
    layout = {"batch": 1, "block": 16}
    steps = (
        HostStep("n1", "pack", ("x",), ("first",), layout),
        HostStep("n2", "unpack", ("first",), ("a",), {"images": 1, "channels": 4}),
        HostStep("n3", "negative", ("a",), ("y",)),
        HostStep("n4", "pack", ("y",), ("second",), layout),
    )
    network = host_network(*steps, tensors=(*plain, *packed), outputs=("a", "y"))
    runner = NetworkRunner(network, Session(VTAConfig(), "reference"))
    x = np.arange(1, 5, dtype=np.int8).reshape(1, 4, 1, 1)
    found = runner.run({"x": x})
    np.testing.assert_array_equal(found["a"], x)
    np.testing.assert_array_equal(found["y"], -x)
