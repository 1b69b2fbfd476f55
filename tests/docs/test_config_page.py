"""The page about configurations says what the rules say; ``--update-golden`` writes it."""

from dataclasses import fields
from pathlib import Path

from docs.make_pages.config_page import KEYS, config_page
from isa.config_file import FIELD_OF_KEY
from isa.machine.hardware_config import HardwareConfig
from runtime.devices.device import DEFAULT_LATENCY
from tests.support.golden.golden_text import check_golden_text

PAGE = Path(__file__).resolve().parents[2] / "docs" / "configuration.md"


def test_the_page_of_configurations_is_up_to_date(update_golden: bool) -> None:
    check_golden_text(config_page(), PAGE, update=update_golden)


def test_every_key_and_every_size_is_on_the_page() -> None:
    assert list(KEYS) == list(FIELD_OF_KEY)
    assert all(f"| `{field.name}` | " in config_page() for field in fields(HardwareConfig))
    assert f"to its response. | {DEFAULT_LATENCY} |" in config_page()
