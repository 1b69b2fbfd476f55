"""Options of the whole test suite."""

import os

import pytest
from hypothesis import settings

settings.register_profile("any machine", deadline=None)  # a busy machine is no failure
settings.load_profile("any machine")

os.environ.pop("VTA_CONFIG", None)  # the tests are about the default configuration, and those that they name


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--update-golden``: golden files are written instead of compared."""
    parser.addoption("--update-golden", action="store_true", help="write the golden text files instead of comparing")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be written."""
    return bool(request.config.getoption("--update-golden"))
