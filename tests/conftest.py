"""Options of the whole test suite."""

import gc
import os
from collections.abc import Generator

import pytest
from hypothesis import settings

# A busy machine is no failure. The same examples on every run, so that a change is judged by what it changes; the
# environment variable VTA_EXPLORE=1 draws others each time, which is for looking for faults (`make explore`).
settings.register_profile("the same", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile("explore" if os.environ.get("VTA_EXPLORE") else "the same")

os.environ.pop("VTA_CONFIG", None)  # the tests are about the default configuration, and those that they name


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--update-golden``: golden files are written instead of compared."""
    parser.addoption("--update-golden", action="store_true", help="write the golden text files instead of comparing")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage among tens of thousands of tests, and never look at them again: that takes 15 seconds."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be written."""
    return bool(request.config.getoption("--update-golden"))
