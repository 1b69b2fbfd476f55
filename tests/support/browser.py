"""A headless Chromium for tests of HTML pages, or the reason why there is none.

Debian's packages ``chromium`` and ``chromium-driver`` (`make test` installs them where it may).
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.chrome.webdriver import WebDriver

__all__ = ["chromium", "console_errors", "missing_browser"]

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def missing_browser() -> str | None:
    """Return why no browser can be started here, None if one can."""
    if not any(map(shutil.which, _BROWSERS)):
        return "Chromium is not installed (Debian: apt-get install chromium chromium-driver)"
    if not shutil.which("chromedriver"):
        return "chromedriver is not installed (Debian: apt-get install chromium-driver)"
    return None


@contextmanager
def chromium(page: Path | str, *, width: int = 1400, height: int = 1200) -> Iterator[WebDriver]:
    """Open ``page`` (a file, or an address of this machine) in a headless Chromium without a network."""
    options = Options()
    options.binary_location = next(filter(None, map(shutil.which, _BROWSERS)))
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        f"--window-size={width},{height}",
        "--disable-gpu",
    ):
        options.add_argument(argument)
    options.add_argument("--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1")  # nothing from anywhere
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        driver.get(page if isinstance(page, str) else page.as_uri())
        yield driver
    finally:
        driver.quit()


def console_errors(driver: WebDriver) -> list[str]:
    """Return what the page complained about so far."""
    log = driver.get_log("browser")  # type: ignore[no-untyped-call]  # selenium's own annotations stop here
    return [entry["message"] for entry in log if entry["level"] in ("SEVERE", "WARNING")]
