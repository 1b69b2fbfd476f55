"""The page in a real browser: dots and rows of the outcomes, sorting, finding, selecting, hostile names."""

from collections.abc import Iterator

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.support.ui import Select

from tests.support.browser import chromium, console_errors, missing_browser
from vta.explore.html import page_text
from vta.explore.study import Outcome
from vta.explore.sweep import points_of

pytestmark = pytest.mark.skipif(missing_browser() is not None, reason=str(missing_browser()))

NUMBERS = [(900, 40.0), (500, 80.0), (950, 90.0), (None, 10.0)]


def outcomes() -> list[Outcome]:
    points = points_of(["latency=1,2,3,4"])
    found = []
    for point, (cycles, bram) in zip(points, NUMBERS, strict=True):
        numbers: dict[str, object] = {"lut": int(bram * 100), "ff": 5, "dsp": 7, "bram": bram, "area_by": "estimate"}
        if cycles is not None:
            numbers |= {"cycles": cycles, "cycles_by": "tsim", "layers": {"</script><b>": cycles}}
        problems = {} if cycles is not None else {"predicted": "<img src=x onerror=alert(1)> does not fit"}
        found.append(Outcome(point, numbers, problems))
    return found


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebDriver]:
    file = tmp_path_factory.mktemp("page") / "explore.html"
    file.write_text(page_text(outcomes(), "a <network>", "vta explore 'a b'"), encoding="utf-8")
    with chromium(file) as driver:
        yield driver
        assert console_errors(driver) == []


def places(page: WebDriver, what: str) -> list[int]:
    return [int(each.get_attribute("data-place") or -1) for each in page.find_elements(By.CSS_SELECTOR, what)]


def test_the_head_says_what_was_explored_and_how(page: WebDriver) -> None:
    assert page.title == "VTA explore: a <network>"
    assert page.find_element(By.ID, "command").text == "vta explore 'a b'"
    assert [each.text for each in page.find_elements(By.CSS_SELECTOR, "#figures b")] == ["4", "2", "1"]


def test_a_dot_for_each_that_has_both_numbers_and_a_row_for_each(page: WebDriver) -> None:
    assert sorted(places(page, "circle")) == [0, 1, 2]
    assert sorted(places(page, "circle.best")) == [0, 1]
    assert places(page, "#body tr") == [0, 1, 2, 3]
    assert "<img src=x onerror=alert(1)> does not fit" in page.find_element(By.ID, "body").text


def test_rows_sort_by_a_click_and_again_the_other_way(page: WebDriver) -> None:
    page.find_element(By.CSS_SELECTOR, "th[data-name=cycles]").click()
    assert places(page, "#body tr") == [1, 0, 2, 3]
    page.find_element(By.CSS_SELECTOR, "th[data-name=cycles]").click()
    assert places(page, "#body tr") == [3, 2, 0, 1]
    page.find_element(By.CSS_SELECTOR, "th[data-name=latency]").click()
    assert places(page, "#body tr") == [0, 1, 2, 3]


def test_a_click_selects_a_configuration_and_shows_its_layers(page: WebDriver) -> None:
    page.find_element(By.CSS_SELECTOR, "#body tr[data-place='1']").click()
    assert "</script><b>" in page.find_element(By.ID, "selection").text
    assert places(page, "circle.picked") == [1]


def test_what_nothing_beats_and_what_is_searched_for_can_be_shown_alone(page: WebDriver) -> None:
    page.find_element(By.ID, "only-best").click()
    assert sorted(places(page, "#body tr")) == [0, 1]
    page.find_element(By.ID, "only-best").click()
    page.find_element(By.ID, "search").send_keys("does not fit")
    assert places(page, "#body tr") == [3]
    assert page.find_element(By.ID, "shown").text == "1 of 4"
    assert "no configuration has both" in page.find_element(By.ID, "plot").text
    page.execute_script("document.getElementById('search').value = ''; vtaExplore.state.text = ''; vtaExplore.pick(-1)")


def test_the_axes_are_chosen(page: WebDriver) -> None:
    Select(page.find_element(By.ID, "x")).select_by_value("bram")
    assert "bram" in page.find_element(By.ID, "plot").text
    assert page.execute_script("return vtaExplore.state.x") == "bram"
