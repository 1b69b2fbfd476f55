"""The pages of the convolution tutorial with one virtual thread and with two: accounts that sum, overlap that shows.

The overlap is looked for in the recorded cycles, and in what a real Chromium draws; the cycles that every account must
sum to are those that ``tsim`` counts in a run that nobody records.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from typer.testing import CliRunner

from tests.support.browser import chromium, console_errors, missing_browser
from vta.cli.app import app
from vta.inspect.trace import Recorded, read_trace

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "convolution.py"
MODULES = ("fetch", "load", "compute", "store")
BOXES = """
const canvas = document.getElementById("timeline"), ratio = window.devicePixelRatio;
const {data, width} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
const {text, module} = vtaTrace.data.launches[0].instructions;
return vtaTrace.boxes().filter(box => box.hit.instruction !== undefined).map(({left, right, bottom, hit}) => {
    const pixel = Math.floor((bottom - 1.5) * ratio) * width + Math.floor((left + right) / 2 * ratio);
    return [text[hit.instruction].split(" ")[0], left, right, module[hit.instruction],
            ...data.slice(4 * pixel, 4 * pixel + 3)];
});
"""
"""Script: operation, left, right, module and the red, green and blue in the box, of every instruction's box."""


def vta(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.output


@dataclass(frozen=True, slots=True)
class Run:
    """The tutorial's recorded launch and its page, and the cycles that ``tsim`` counts without a recording."""

    launch: Recorded
    page: Path
    cycles: int


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Run]:
    folder = tmp_path_factory.mktemp("convolution")
    return {threads: run_of(threads, folder) for threads in (1, 2)}


def run_of(threads: int, folder: Path) -> Run:
    trace, page = folder / f"{threads}.trace", folder / f"{threads}.html"
    counted = re.search(r"│ cycle_count +│ +([\d,]+) │", vta("run", EXAMPLE, threads, "--target", "tsim", "--stats"))
    assert counted is not None
    vta("run", EXAMPLE, threads, "--target", "tsim", "--record", trace)
    vta("trace", trace, "--html", page)
    with read_trace(trace) as reader:
        [launch] = list(reader)
    return Run(launch, page, int(counted[1].replace(",", "")))


def overlap(launch: Recorded) -> float:
    """Return in what share of the load module's working cycles the compute module works as well."""
    duration = launch.timeline.duration
    works = {}
    for module in ("load", "compute"):
        states = launch.timeline.states[module]
        works[module] = np.repeat(np.array(states.causes) == "work", states.durations(duration))
    return float((works["load"] & works["compute"]).sum() / works["load"].sum())


def covered(boxes: Sequence[tuple[float, float]], others: Sequence[tuple[float, float]]) -> float:
    """Return what share of the length of ``boxes`` lies under ``others``, looked at in tenths of a pixel."""
    under = np.zeros(20_000, np.bool_)
    for left, right in others:
        under[round(left * 10) : round(right * 10)] = True
    parts = [under[round(left * 10) : round(right * 10)] for left, right in boxes]
    return float(np.concatenate(parts).mean())


def test_two_threads_overlap_loads_with_products_and_one_does_not(runs: dict[int, Run]) -> None:
    one, two = runs[1].launch, runs[2].launch
    assert overlap(one) < 0.02
    assert overlap(two) > 0.95
    assert two.timeline.duration < 0.8 * one.timeline.duration


@pytest.mark.parametrize("threads", [1, 2])
def test_the_account_of_every_module_sums_to_the_cycles_that_tsim_counts(runs: dict[int, Run], threads: int) -> None:
    timeline, cycles = runs[threads].launch.timeline, runs[threads].cycles
    assert timeline.cycles == timeline.duration == cycles
    assert timeline.account is not None
    assert tuple(timeline.account.modules) == tuple(timeline.states) == MODULES
    for module, causes in timeline.account.modules.items():
        assert sum(causes.values()) == cycles
        lasted: dict[str, int] = dict.fromkeys(causes, 0)
        states = timeline.states[module]
        for cause, duration in zip(states.causes, states.durations(cycles).tolist(), strict=True):
            lasted[cause] += duration
        assert lasted == dict(causes)  # the timeline and the account say the same, cause by cause


def test_the_screenshots_in_the_documents_are_of_these_runs(runs: dict[int, Run]) -> None:
    text = (EXAMPLE.parents[1] / "docs" / "inspection.md").read_text(encoding="utf-8")
    one, two = (runs[threads].cycles for threads in (1, 2))
    assert f"{two:,} cycles instead of {one:,}" in text, "run `make pictures`, and correct the sentence above them"


needs_browser = pytest.mark.skipif(missing_browser() is not None, reason=str(missing_browser()))


@needs_browser
def test_the_timelines_show_the_overlap_appear(runs: dict[int, Run]) -> None:
    shares = {}
    for threads, run in runs.items():
        with chromium(run.page) as driver:
            drawn: list[list[Any]] = driver.execute_script(BOXES)
            assert console_errors(driver) == []
        loads = [(left, right) for _, left, right, module, *_ in drawn if module == "load"]
        products = [(left, right) for name, left, right, module, *_ in drawn if name == "gemm"]
        assert len(loads) > 100
        assert len(products) > 60
        for name, left, right, module, red, green, blue in drawn:
            if right - left > 3 and module == "load":
                assert blue > red, f"{name} is drawn in {red}, {green}, {blue}"
            if right - left > 3 and name == "gemm":
                assert green > max(red, blue), f"{name} is drawn in {red}, {green}, {blue}"
        shares[threads] = covered(loads, products)
    assert shares[1] < 0.05, shares
    assert shares[2] > 0.95, shares


def shown_sums(driver: WebDriver) -> list[dict[str, Any]]:
    """Return for each row of bars its module, the cycles that its bars stand for, and their widths in per cent."""
    found: list[dict[str, Any]] = driver.execute_script(
        "return [...document.querySelectorAll('.account-row')].map(row => {"
        "  const bars = [...row.querySelectorAll('.bar div')], sum = (values) => values.reduce((a, b) => a + b, 0);"
        "  return {module: row.dataset.module, cycles: sum(bars.map(bar => Number(bar.dataset.cycles))),"
        "          width: sum(bars.map(bar => parseFloat(bar.style.width)))}})"
    )
    return found


@needs_browser
@pytest.mark.parametrize("threads", [1, 2])
def test_the_page_accounts_for_every_cycle_of_every_module(runs: dict[int, Run], threads: int) -> None:
    run = runs[threads]
    with chromium(run.page) as driver:
        rows = shown_sums(driver)
        assert {row["module"]: row["cycles"] for row in rows} == dict.fromkeys(MODULES, run.cycles)
        assert all(abs(row["width"] - 100) < 0.01 for row in rows)
        total = driver.find_elements(By.CSS_SELECTOR, "#account table tr")[-1].text
        assert total.split() == ["total", *[f"{run.cycles:,}"] * len(MODULES)]
        assert driver.find_element(By.ID, "figures").text.split("\n")[:2] == [f"{run.cycles:,}", "cycles"]
        sums = driver.execute_script(
            "const launch = vtaTrace.data.launches[0], sums = {};"
            "for (const [module, {begins}] of Object.entries(launch.states)) "
            "sums[module] = begins.reduce((sum, b, at) => sum + ((begins[at + 1] ?? launch.duration) - b), 0);"
            "return sums"
        )
        assert sums == dict.fromkeys(MODULES, run.cycles)
        assert console_errors(driver) == []
