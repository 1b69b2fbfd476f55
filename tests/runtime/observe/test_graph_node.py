"""The node of a graph that a launch is run for: nested names, each context its own, launches that are run again."""

import threading

import pytest

from isa.config import VTAConfig
from isa.instructions import MemoryId
from isa.origin import Origin
from isa.text.assembler import assemble
from runtime.observe.graph_node import GraphNodeError, current_node, graph_node, with_node
from runtime.observe.timeline import Timeline
from runtime.session import Session

CONFIG = VTAConfig()


def copy(session: Session) -> None:
    """Load a tile and store it: two calls, and what ends the launch."""
    with session.program():
        source, target = session.memory.alloc(64), session.memory.alloc(16)
        session.queue.load_buffer_2d(source, 0, x_size=1, y_size=1, x_stride=1, sram_base=0, memory=MemoryId.ACC)
        session.queue.store_buffer_2d(0, MemoryId.OUT, target, 0, x_size=1, y_size=1, x_stride=1)
        session.queue.synchronize()


def test_names_are_nested_and_end_with_their_block() -> None:
    assert current_node() == ""
    with graph_node("layer1") as outer:
        with graph_node("conv") as inner:
            assert (outer, inner, current_node()) == ("layer1", "layer1/conv", "layer1/conv")
        assert current_node() == "layer1"
        with pytest.raises(RuntimeError, match="inside"), graph_node("conv"):
            raise RuntimeError("inside")
        assert current_node() == "layer1"
    assert current_node() == ""


@pytest.mark.parametrize("name", ["", "  ", "two\nlines", 3])
def test_a_name_is_a_line_of_text(name: object) -> None:
    with pytest.raises(GraphNodeError, match="must be a text of one line"), graph_node(name):  # type: ignore[arg-type]
        pass
    assert current_node() == ""


def test_a_thread_begins_without_a_node() -> None:
    seen = []
    with graph_node("conv"):
        thread = threading.Thread(target=lambda: seen.append(current_node()))
        thread.start()
        thread.join()
    assert seen == [""]


def test_every_instruction_of_a_launch_has_its_node_and_its_call() -> None:
    session = Session(CONFIG, "reference", record=True)
    with graph_node("copy"):
        copy(session)
    copy(session)
    named, plain = session.queue.launcher.launches
    load, store, *rest = named.origins
    assert (load, store) == (
        Origin("", call="VTALoadBuffer2D", node="copy"),
        Origin("", call="VTAStoreBuffer2D", node="copy"),
    )
    assert {(origin.call, origin.node) for origin in rest if origin is not None} == {("VTASynchronize", "copy")}
    assert {origin.node for origin in plain.origins if origin is not None} == {""}


def test_an_instruction_is_for_the_node_in_force_when_it_was_asked_for() -> None:
    session = Session(CONFIG, "reference", record=True)
    with session.program():
        source, target = session.memory.alloc(64), session.memory.alloc(16)
        with graph_node("a"):
            session.queue.load_buffer_2d(source, 0, x_size=1, y_size=1, x_stride=1, sram_base=0, memory=MemoryId.ACC)
        with graph_node("b"):
            session.queue.store_buffer_2d(0, MemoryId.OUT, target, 0, x_size=1, y_size=1, x_stride=1)
        session.queue.synchronize()
    [launch] = session.queue.launcher.launches
    assert launch.nodes == ("a", "b", "")
    assert [origin.node for origin in launch.origins[:3] if origin is not None] == ["a", "b", ""]
    again = launch.run_for("c")
    assert again.nodes == ("c",)
    assert {origin.node for origin in again.origins if origin is not None} == {"c"}
    assert again.run_for("c") is again


def test_a_stage_that_is_not_known_gets_a_node_too() -> None:
    assert with_node([None, Origin("A", "a.py:1")], "n") == (Origin("", node="n"), Origin("A", "a.py:1", node="n"))
    assert with_node(with_node([None, Origin("A", "a.py:1")], "n"), "") == (None, Origin("A", "a.py:1"))


def test_a_program_of_its_own_has_the_node_in_force() -> None:
    program = assemble('load.uop dram=0x400 x=1 @ "first"\nfinish')
    session, seen = Session(program.config, "sim"), list[Timeline]()
    session.device.set_timeline(seen.append)
    with graph_node("mine"):
        session.run_program(program)
    session.run_program(program)
    assert [str(origin) for origin in seen[0].origins] == ["mine: first", "mine"]
    assert [str(origin) for origin in seen[1].origins] == ["first", "None"]
