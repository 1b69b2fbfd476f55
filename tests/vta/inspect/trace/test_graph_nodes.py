"""Operators that run for nodes of a graph: every view of the trace names the node, the stage and the runtime call."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from selenium.webdriver.common.by import By
from typer.testing import CliRunner

import vta
from isa.config import VTAConfig
from tests.support.browser import chromium, console_errors, missing_browser
from vta.cli.app import app
from vta.environment import Environment
from vta.inspect.capsule import Capture, load_capsule, save_capsule
from vta.inspect.trace import Recorded, TraceHeader, read_trace, recording
from vta.inspect.trace.html import page_text
from vta.inspect.trace.listing import launch_listing
from vta.inspect.trace.page_data import page_data
from vta.inspect.trace.perfetto import write_perfetto
from vta.topi.alu.elementwise import Elementwise
from vta.topi.core.epilogue import Add
from vta.topi.core.operator import compile as compile_operator

NODES = ["block1/add", "block2/add", "", "block2/add"]
"""What the launches are run for, one after the other: one operator, compiled once."""


@pytest.fixture(scope="module", params=["sim", "tsim"])
def trace(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nodes")
    env = Environment(VTAConfig(target=request.param))
    compiled = compile_operator(Elementwise((4, 16), (Add(3),)), env)
    values = np.arange(64, dtype=np.int8).reshape(4, 16)
    capture = Capture(env.session, name="nodes", keep_all=True)
    with recording(env.session, folder / "trace", program="nodes.py"), capture.watching():
        with vta.graph_node("block1"), vta.graph_node("add"):
            np.testing.assert_array_equal(compiled(values), values + 3)
        with vta.graph_node("block2/add"):
            compiled(values)
        compiled(values)
        with vta.graph_node("block2/add"):
            compiled(values)
    capsule = capture.capsule()
    assert capsule is not None
    save_capsule(capsule, folder / "capsule")
    return folder / "trace"


@pytest.fixture
def launches(trace: Path) -> tuple[TraceHeader, list[Recorded]]:
    with read_trace(trace) as reader:
        return reader.header, list(reader)


Launches = tuple[TraceHeader, list[Recorded]]


def test_the_node_is_that_of_the_launch_whatever_was_compiled_or_recorded_before(launches: Launches) -> None:
    assert [launch.node for launch in launches[1]] == NODES
    for launch, node in zip(launches[1], NODES, strict=True):
        origins = [origin for origin in launch.timeline.origins if origin is not None]
        assert len(origins) == len(launch)
        assert {origin.node for origin in origins} == {node}
        assert {"VTALoadBuffer2D", "VTAPushALUOp", "VTAStoreBuffer2D"} <= {origin.call for origin in origins}


def test_the_listing_names_the_node(launches: Launches) -> None:
    heads = [next(iter(launch_listing(launch))).split(" on ")[0] for launch in launches[1]]
    assert heads == ["launch 0 for block1/add", "launch 1 for block2/add", "launch 2", "launch 3 for block2/add"]
    [store] = [line for line in launch_listing(launches[1][0]) if "  store " in line]
    assert "; block1/add: " in store
    assert "VTAStoreBuffer2D" not in store
    [store] = [line for line in launch_listing(launches[1][0], calls=True) if "  store " in line]
    assert store.endswith(", VTAStoreBuffer2D")


def test_perfetto_has_node_stage_and_call_of_every_instruction(launches: Launches) -> None:
    file = io.StringIO()
    write_perfetto(launches[1], file)
    events = json.loads(file.getvalue())["traceEvents"]
    names = [event["args"]["name"] for event in events if event["name"] == "process_name"]
    device = launches[0].device
    unit = "cycle" if device == "tsim" else "step"
    wanted = [f"launch {n} on {device}" + (f": {node}" if node else "") for n, node in enumerate(NODES)]
    assert names == [*(f"{name} (1 {unit} = 1 ns)" for name in wanted), "graph nodes, launches end to end"]
    found = [event["args"] for event in events if event["ph"] == "X" and "index" in event.get("args", {})]
    assert len(found) == sum(len(launch) for launch in launches[1])
    assert {args["node"] for args in found if "node" in args} == {"block1/add", "block2/add"}
    assert {"VTALoadBuffer2D", "VTAPushALUOp"} <= {args["call"] for args in found}


def test_perfetto_has_a_track_for_every_node_with_its_launches_end_to_end(launches: Launches) -> None:
    file = io.StringIO()
    write_perfetto(launches[1], file)
    events = json.loads(file.getvalue())["traceEvents"]
    graph = next(e["pid"] for e in events if e["name"] == "process_name" and "graph nodes" in e["args"]["name"])
    mine = [event for event in events if event["pid"] == graph]
    tracks = {e["tid"]: e["args"]["name"] for e in mine if e["name"] == "thread_name"}
    slices = [
        (tracks[e["tid"]], *e["args"].values(), round(1000 * e["ts"]), round(1000 * e["dur"]))
        for e in mine
        if e["ph"] == "X"
    ]
    lengths = [launch.timeline.duration for launch in launches[1]]
    assert slices == [
        (node, number, len(launches[1][number]), sum(lengths[:number]), lengths[number])
        for number, node in enumerate(NODES)
        if node
    ]
    plain = io.StringIO()
    write_perfetto([launches[1][2]], plain)
    assert "graph nodes" not in plain.getvalue()


def test_a_capsule_keeps_the_nodes(trace: Path) -> None:
    programs = load_capsule(trace.with_name("capsule")).programs
    assert [program.origins[0].node for program in programs if program.origins[0] is not None] == NODES


def test_vta_explain_sums_up_by_node(trace: Path, launches: Launches) -> None:
    result = CliRunner().invoke(app, ["explain", str(trace)])
    if launches[0].device == "sim":
        assert result.exit_code == 1  # no clock
        return
    assert result.exit_code == 0, result.output
    assert "launch 0 for block1/add: " in result.stdout
    text = " ".join(result.stdout.split("all launches, by graph node")[1].replace("│", " ").split())
    cycles: dict[str, int] = {}
    for launch in launches[1]:
        cycles[launch.node] = cycles.get(launch.node, 0) + launch.timeline.duration
    assert f"block1/add 1 {cycles['block1/add']:,} " in text
    assert f"block2/add 2 {cycles['block2/add']:,} " in text
    assert f"(none) 1 {cycles['']:,} " in text
    assert f"total 4 {sum(cycles.values()):,} 100.0 %" in text


@pytest.mark.skipif(missing_browser() is not None, reason=str(missing_browser()))
def test_the_page_shows_and_finds_the_node_and_the_call(launches: Launches, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(page_text(page_data(*launches)), encoding="utf-8")
    with chromium(file) as driver:
        options = [option.text for option in driver.find_elements(By.CSS_SELECTOR, "#launch option")]
        assert options == ["0: block1/add", "1: block2/add", "2", "3: block2/add"]
        assert driver.find_element(By.ID, "subtitle").text.startswith("launch 0 for block1/add on ")
        driver.execute_script("vtaTrace.search('vtapushaluop'); vtaTrace.step(1)")
        assert driver.execute_script("return vtaTrace.state.matches.length") > 0
        selection = driver.find_element(By.ID, "selection").text
        assert "graph node\nblock1/add" in selection
        assert "runtime call\nVTAPushALUOp" in selection
        driver.execute_script("vtaTrace.search('block1')")
        assert driver.execute_script("return vtaTrace.state.matches.length") == len(launches[1][0])
        assert console_errors(driver) == []


@pytest.mark.skipif(missing_browser() is not None, reason=str(missing_browser()))
def test_the_page_shows_the_launches_of_one_node(launches: Launches, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(page_text(page_data(*launches)), encoding="utf-8")
    cycles = launches[1][1].timeline.duration + launches[1][3].timeline.duration
    unit = "cycles" if launches[0].device == "tsim" else "steps"
    with chromium(file) as driver:

        def texts(name: str) -> list[str]:
            return [option.text for option in driver.find_elements(By.CSS_SELECTOR, f"#{name} option")]

        assert texts("node")[0] == "all"
        assert texts("node")[2] == f"block2/add ({cycles:,} {unit})"
        driver.find_elements(By.CSS_SELECTOR, "#node option")[2].click()
        assert texts("launch") == ["1: block2/add", "3: block2/add"]
        assert driver.find_element(By.ID, "subtitle").text.startswith("launch 1 for block2/add on ")
        driver.find_elements(By.CSS_SELECTOR, "#launch option")[1].click()
        assert driver.find_element(By.ID, "subtitle").text.startswith("launch 3 for block2/add on ")
        driver.execute_script("vtaTrace.open(2)")  # a launch of another node: all are shown again
        assert len(texts("launch")) == 4
        driver.execute_script("vtaTrace.filterByNode('')")
        assert driver.find_element(By.ID, "subtitle").text.startswith("launch 2 on ")
        assert console_errors(driver) == []
    file.write_text(page_text(page_data(launches[0], [launches[1][2]])), encoding="utf-8")
    with chromium(file) as driver:
        assert not driver.find_element(By.ID, "nodes").is_displayed()
