"""``python -m docs.make_pages``: write every page that is made from the code anew."""

from collections.abc import Callable, Mapping
from pathlib import Path

from docs.make_pages.config_page import config_page
from docs.make_pages.errors_page import errors_page
from docs.make_pages.hardware_page import component_page
from docs.make_pages.isa_page import reference_page
from docs.make_pages.json_page import json_page
from docs.make_pages.registers_page import register_page
from docs.make_pages.reports_page import reports_page
from docs.make_pages.tvm_names_page import tvm_names_page
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig

DOCS = Path(__file__).resolve().parents[1]

PAGES: Mapping[str, Callable[[], str]] = {
    "configuration.md": config_page,
    "errors.md": errors_page,
    "hardware-modules.md": component_page,
    "isa.md": reference_page,
    "json.md": json_page,
    "reports.md": reports_page,
    "tvm-names.md": tvm_names_page,
    "registers.md": lambda: register_page(VTAConfig(), HardwareConfig()),
}
"""Page -> what makes its text."""


def main() -> None:
    """Write the pages, whole."""
    for name, make in PAGES.items():
        (DOCS / name).write_text(make(), encoding="utf-8")
        print(f"docs/{name}")


if __name__ == "__main__":
    main()
