"""The pages of the convolution tutorial with one virtual thread and with two: accounts that sum, overlap that shows."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.support.browser import chromium, console_errors, missing_browser
from vta.cli.app import app
from vta.trace import Recorded, read_trace

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "convolution.py"


def vta(*arguments: object) -> None:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    folder = tmp_path_factory.mktemp("convolution")
    paths = {threads: folder / f"{threads}.trace" for threads in (1, 2)}
    for threads, path in paths.items():
        vta("run", EXAMPLE, threads, "--target", "tsim", "--record", path)
    return paths


def launch_of(path: Path) -> Recorded:
    with read_trace(path) as reader:
        [launch] = list(reader)
        return launch


def overlap(launch: Recorded) -> float:
    """Return in what share of the load module's working cycles the compute module works as well."""
    duration = launch.timeline.duration
    works = {}
    for module in ("load", "compute"):
        states = launch.timeline.states[module]
        works[module] = np.repeat(np.array(states.causes) == "work", states.durations(duration))
    return float((works["load"] & works["compute"]).sum() / works["load"].sum())


def test_two_threads_overlap_loads_with_products_and_one_does_not(traces: dict[int, Path]) -> None:
    one, two = (launch_of(traces[threads]) for threads in (1, 2))
    assert overlap(one) < 0.05
    assert overlap(two) > 0.9
    assert two.timeline.duration < 0.8 * one.timeline.duration


@pytest.mark.skipif(missing_browser() is not None, reason=str(missing_browser()))
@pytest.mark.parametrize("threads", [1, 2])
def test_the_page_accounts_for_every_cycle_of_every_module(
    traces: dict[int, Path], threads: int, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    vta("trace", traces[threads], "--html", page)
    launch = launch_of(traces[threads])
    with chromium(page) as driver:
        shown: list[dict[str, Any]] = driver.execute_script(
            "return [...document.querySelectorAll('.account-row')].map(row => ({module: row.dataset.module,"
            " sum: [...row.querySelectorAll('.bar div')].reduce((sum, bar) => sum + Number(bar.dataset.cycles), 0)}))"
        )
        assert {row["module"]: row["sum"] for row in shown} == dict.fromkeys(
            ("fetch", "load", "compute", "store"), launch.timeline.duration
        )
        sums = driver.execute_script(
            "const launch = vtaTrace.data.launches[0], sums = {};"
            "for (const [module, {begins}] of Object.entries(launch.states)) "
            "sums[module] = begins.reduce((sum, b, at) => sum + ((begins[at + 1] ?? launch.duration) - b), 0);"
            "return sums"
        )
        assert set(sums.values()) == {launch.timeline.duration}
        assert console_errors(driver) == []
