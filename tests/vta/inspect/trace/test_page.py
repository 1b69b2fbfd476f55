"""The HTML page in a real browser: it loads without an error, shows the numbers of the trace, zooms, finds, selects."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver

from isa.instructions import Finish, Gemm
from isa.origin import Origin
from runtime.devices.device import DeviceError
from runtime.session import Session
from tests.support.browser import chromium, console_errors, missing_browser
from tests.support.runtime.recorded_runs import record_programs, some_program
from vta.inspect.trace import Recorded, read_trace, recording
from vta.inspect.trace.html import page_text
from vta.inspect.trace.page_data import page_data

pytestmark = pytest.mark.skipif(missing_browser() is not None, reason=str(missing_browser()))

Page = tuple[WebDriver, list[Recorded]]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("page")
    header, launches = record_programs(folder / "t", "tsim", some_program(3), some_program(4))
    file = folder / "page.html"
    file.write_text(page_text(page_data(header, launches)), encoding="utf-8")
    with chromium(file) as driver:
        yield driver, launches
        assert console_errors(driver) == []


@pytest.fixture(autouse=True)
def _first_launch(page: Page) -> None:
    page[0].execute_script("vtaTrace.open(0)")


def state(driver: WebDriver) -> dict[str, Any]:
    return dict(driver.execute_script("return vtaTrace.state"))


def click(driver: WebDriver, name: str) -> None:
    driver.find_element(By.ID, name).click()


def search(driver: WebDriver, text: str) -> None:
    field = driver.find_element(By.ID, "search")
    field.clear()
    field.send_keys(text)


def test_the_head_says_what_ran(page: Page) -> None:
    driver, launches = page
    assert driver.title == "VTA trace: test"
    cycles = f"{launches[0].timeline.duration:,}"
    text = driver.find_element(By.ID, "subtitle").text
    assert text.startswith(f"launch 0 on tsim: {len(launches[0])} instructions, {cycles} cycles; ")


def test_the_account_of_every_module_sums_to_the_cycles(page: Page) -> None:
    driver, launches = page
    account = launches[0].timeline.account
    assert account is not None
    rows = driver.find_elements(By.CSS_SELECTOR, ".account-row")
    assert [row.get_attribute("data-module") for row in rows] == list(account.modules)
    for row in rows:
        shown = {
            bar.get_attribute("data-cause"): int(bar.get_attribute("data-cycles") or 0)
            for bar in row.find_elements(By.CSS_SELECTOR, ".bar div")
        }
        module = row.get_attribute("data-module") or ""
        assert shown == {cause: cycles for cause, cycles in account.modules[module].items() if cycles}
        assert sum(shown.values()) == launches[0].timeline.duration == int(row.get_attribute("data-total") or 0)


def test_the_timeline_has_a_box_for_every_instruction(page: Page) -> None:
    driver, launches = page
    drawn = driver.execute_script("return vtaTrace.boxes().flatMap(b => b.hit.instruction ?? [])")
    assert sorted(drawn) == list(range(len(launches[0])))
    names = driver.execute_script("return vtaTrace.tracks().map(t => t.name)")
    assert {"load", "compute", "store", "compute: waits", "DRAM: load", "acc buffer"} <= set(names)


def test_zooming_keeps_the_middle_and_stays_within_the_run(page: Page) -> None:
    driver, launches = page
    duration = launches[0].timeline.duration
    assert (state(driver)["begin"], state(driver)["end"]) == (0, duration)
    click(driver, "zoom-in")
    assert (state(driver)["begin"], state(driver)["end"]) == pytest.approx((duration / 4, 3 * duration / 4))
    click(driver, "zoom-out")
    click(driver, "zoom-out")
    assert (state(driver)["begin"], state(driver)["end"]) == (0, duration)
    driver.execute_script("vtaTrace.zoom(1e9)")
    assert state(driver)["end"] - state(driver)["begin"] == pytest.approx(8)
    click(driver, "fit")
    assert (state(driver)["begin"], state(driver)["end"]) == (0, duration)


def test_a_drag_in_the_overview_moves_what_is_shown_and_not_how_much(page: Page) -> None:
    driver, launches = page
    duration = launches[0].timeline.duration
    driver.execute_script("vtaTrace.view(0, arguments[0])", duration / 4)
    overview = driver.find_element(By.ID, "overview")
    drag = (
        "const [canvas, share] = arguments, r = canvas.getBoundingClientRect(), left = r.left + 128; "
        "const o = {clientX: left + share * (r.right - left), clientY: r.top + 9, bubbles: true, pointerId: 1}; "
        "canvas.setPointerCapture = () => {}; "
        "for (const kind of ['pointerdown', 'pointerup']) canvas.dispatchEvent(new PointerEvent(kind, o))"
    )
    driver.execute_script(drag, overview, 0.5)
    pixel = duration / 1000
    assert state(driver)["begin"] == pytest.approx(3 * duration / 8, abs=2 * pixel)
    assert state(driver)["end"] - state(driver)["begin"] == pytest.approx(duration / 4)


def test_the_head_has_the_figures_of_the_launch(page: Page) -> None:
    driver, launches = page
    timeline = launches[0].timeline
    cards = {
        card.find_element(By.TAG_NAME, "span").text: card.find_element(By.TAG_NAME, "b").text
        for card in driver.find_elements(By.CSS_SELECTOR, "#figures div")
    }
    assert cards["cycles"] == f"{timeline.duration:,}"
    assert cards["instructions"] == f"{len(launches[0]):,}"
    assert timeline.account is not None
    assert cards["compute works"] == f"{100 * timeline.account.modules['compute']['work'] / timeline.duration:.1f} %"
    assert "of DRAM traffic" in cards


def test_a_dark_screen_gets_a_dark_page(page: Page) -> None:
    driver, _ = page
    ground = "return getComputedStyle(document.body).backgroundColor"
    seen = []
    for scheme in ("light", "dark"):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        channels = driver.execute_script(ground).removeprefix("rgb(").removesuffix(")").split(", ")
        seen.append(sum(map(int, channels)))
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert seen[0] > 600
    assert seen[1] < 120


def test_search_finds_by_text_and_by_index_and_steps_through(page: Page) -> None:
    driver, launches = page
    expected = [i for i, kind in enumerate(launches[0].instructions) if type(kind).__name__ == "Store"]
    search(driver, "store")
    assert state(driver)["matches"] == expected
    assert driver.find_element(By.ID, "found").text == f"{len(expected)} found"
    field = driver.find_element(By.ID, "search")
    field.send_keys(Keys.ENTER)
    assert state(driver)["selected"] == expected[0]
    field.send_keys(Keys.SHIFT + Keys.ENTER)
    assert state(driver)["selected"] == expected[-1]
    rows = driver.find_elements(By.CSS_SELECTOR, "#table-body tr[data-index]")
    assert [int(row.get_attribute("data-index") or -1) for row in rows][: len(expected)] == expected[: len(rows)]
    search(driver, "3")
    assert state(driver)["matches"] == [3]
    search(driver, "nowhere at all")
    assert driver.find_element(By.ID, "found").text == "0 found"


def test_a_row_and_a_box_select_the_same_instruction(page: Page) -> None:
    driver, launches = page
    search(driver, "")
    driver.execute_script("vtaTrace.select(-1)")
    row = driver.find_element(By.CSS_SELECTOR, '#table-body tr[data-index="2"]')
    row.click()
    assert state(driver)["selected"] == 2
    shown = driver.find_element(By.ID, "selection").text
    timeline = launches[0].timeline
    assert f"cycle {timeline.begun[2]:,} to {timeline.ended[2]:,}" in shown
    assert driver.find_element(By.CSS_SELECTOR, "#table-body tr.picked").get_attribute("data-index") == "2"
    click(driver, "zoom-selection")
    assert state(driver)["begin"] <= timeline.begun[2] <= timeline.ended[2] <= state(driver)["end"]
    place = driver.execute_script(
        "const b = vtaTrace.boxes().find(b => b.hit.instruction === 2); "
        "return [(b.left + b.right) / 2, (b.top + b.bottom) / 2]"
    )
    driver.execute_script("vtaTrace.select(-1)")
    canvas = driver.find_element(By.ID, "timeline")
    click_at = (
        "const [x, y] = arguments[1], r = arguments[0].getBoundingClientRect(), "
        "o = {clientX: r.left + x, clientY: r.top + y, bubbles: true}; "
        "for (const kind of ['pointerdown', 'pointerup', 'click']) "
        "arguments[0].dispatchEvent(new PointerEvent(kind, o))"
    )
    driver.execute_script(click_at, canvas, place)
    assert state(driver)["selected"] == 2


def test_tokens_lead_from_one_instruction_to_the_other(page: Page) -> None:
    driver, _ = page
    giver, taker = driver.execute_script(
        "const t = vtaTrace.data.launches[0].tokens, at = t.taker.findIndex(n => n >= 0); "
        "return [t.giver[at], t.taker[at]]"
    )
    driver.execute_script(f"vtaTrace.select({giver})")
    driver.find_element(By.CSS_SELECTOR, f'#selection a[data-index="{taker}"]').click()
    assert state(driver)["selected"] == taker


def test_the_roofline_has_the_launch_on_it(page: Page) -> None:
    driver, _ = page
    roof = driver.execute_script("return vtaTrace.data.launches[0].roofline")
    text = driver.find_element(By.ID, "roofline-text").text
    moved = f"{roof['read']:,} bytes read, {roof['written']:,} written"
    assert text.startswith(f"{roof['macs']:,} MAC, {moved}: {roof['achieved']:.1f} MAC a cycle")
    assert driver.find_elements(By.ID, "roofline-point")


def test_another_launch_can_be_chosen(page: Page) -> None:
    driver, launches = page
    driver.execute_script(
        "const s = document.getElementById('launch'); s.value = 1; s.dispatchEvent(new Event('change'))"
    )
    assert state(driver)["launch"] == 1
    assert driver.find_element(By.ID, "subtitle").text.startswith(f"launch 1 on tsim: {len(launches[1])} instructions")


def test_escape_ends_a_search_and_the_table_begins_with_its_first_row(page: Page) -> None:
    driver, _ = page
    search(driver, "gemm")
    assert state(driver)["matches"]
    driver.find_element(By.ID, "search").send_keys(Keys.ESCAPE)
    assert (state(driver)["query"], state(driver)["matches"]) == ("", [])
    assert driver.find_element(By.ID, "found").text == driver.find_element(By.ID, "search").get_attribute("value") == ""
    first, *_ = driver.find_elements(By.CSS_SELECTOR, "#table-body tr")
    assert first.get_attribute("data-index") == "0"


def test_boxes_narrower_than_a_pixel_are_drawn_once_unless_they_are_searched_for(page: Page) -> None:
    driver, _ = page
    drawn = "return vtaTrace.boxes().filter(b => b.hit.instruction !== undefined).length"
    driver.execute_script("vtaTrace.data.launches[0].axis *= 1000; vtaTrace.fit()")
    try:
        few = driver.execute_script(drawn)
        search(driver, "o")
        found = len(state(driver)["matches"])
        assert few < found <= driver.execute_script(drawn)
    finally:
        driver.execute_script("vtaTrace.data.launches[0].axis /= 1000")


def test_names_are_text_whatever_is_in_them(tmp_path: Path) -> None:
    names = [
        "</script><script>window.broken = 1</script>",
        "<!--<script>",
        "<img src=x onerror='window.broken = 1'>",
        "\"quotes\" 'and' `ticks` &amp; ${1 + 1}",
        "\u5377\u79ef \u202e",
        "long" * 500,
        "/*DATA*/ /*JS*/",
    ]
    program = some_program(3)
    origins = tuple(
        Origin(names[i % len(names)], names[(i + 1) % len(names)]) for i in range(len(program.instructions))
    )
    session, path = Session(program.config, "tsim"), tmp_path / "t"
    with recording(session, path, program="".join(names)):
        session.run_program(replace(program, origins=origins))
    page = tmp_path / "page.html"
    with read_trace(path) as reader:
        page.write_text(page_text(page_data(reader.header, reader)), encoding="utf-8")
    with chromium(page) as driver:
        assert driver.execute_script("return document.title") == "VTA trace: " + "".join(names)
        for index, origin in enumerate(origins[: len(names)]):
            driver.execute_script(f"vtaTrace.select({index})")
            shown = driver.execute_script(
                "return [...document.querySelectorAll('#selection dd')].map(d => d.textContent)"
            )
            assert str(origin) in shown
        wide, most = driver.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
        assert wide <= most
        assert driver.execute_script("return window.broken") is None
        assert console_errors(driver) == []


def test_a_launch_that_did_not_begin_is_shown_with_its_error(tmp_path: Path) -> None:
    program = replace(some_program(3), instructions=(Gemm(), Finish(), Finish()), origins=())
    session, path, page = Session(program.config, "tsim"), tmp_path / "t", tmp_path / "page.html"
    with recording(session, path), pytest.raises(DeviceError) as caught:
        session.run_program(program)
    with read_trace(path) as reader:
        page.write_text(page_text(page_data(reader.header, reader)), encoding="utf-8")
    with chromium(page) as driver:
        assert driver.find_element(By.ID, "error").text == str(caught.value)
        assert driver.find_element(By.ID, "account").text == "The launch did not begin."
        assert driver.find_element(By.ID, "roofline").text == "The launch did not begin."
        assert console_errors(driver) == []


def test_a_buffer_is_labelled_with_what_is_used_of_it(page: Page) -> None:
    labels = page[0].execute_script(
        "return vtaTrace.tracks().filter((t) => t.kind === 'memory')"
        ".map((t) => [t.note, Math.max(...t.memory.last) + 1, t.memory.depth])"
    )
    assert labels
    for note, used, depth in labels:
        assert note == f"{used:,} of {depth:,}"


def test_no_two_kinds_of_waiting_share_a_colour_and_a_full_queue_of_fetch_is_no_alarm(page: Page) -> None:
    colours = page[0].execute_script("return vtaTrace.colours()")
    causes = list(colours["causes"].values())
    assert len(set(causes)) == len(causes)
    channels = [tuple(int(colour[at : at + 2], 16) for at in (1, 3, 5)) for colour in [*causes, colours["store"]]]
    for first, second in itertools.combinations(channels, 2):
        assert sum(abs(a - b) for a, b in zip(first, second, strict=True)) > 40
    assert colours["fetch"] == colours["idle"]
