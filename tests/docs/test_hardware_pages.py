"""The generated pages of the documentation are what the hardware says now; ``--update-golden`` writes them."""

import importlib
import inspect
import pkgutil
from pathlib import Path

from amaranth.lib import wiring

import hw
from docs.make_pages.hardware_page import COMPONENTS, component_page, component_text
from docs.make_pages.registers_page import register_page
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from tests.support.golden.golden_text import check_golden_text

DOCS = Path(__file__).resolve().parents[2] / "docs"
WIRES = {
    "hw.fpga.harness.Harness",
    "hw.registered_fifo.RegisteredFIFO",
    "hw.skid.Skid",
    "hw.stream_register.StreamRegister",
}
"""Components that only pass a stream on, and one that goes around the design."""


def test_the_page_of_components_is_up_to_date(update_golden: bool) -> None:
    check_golden_text(component_page(), DOCS / "hardware-modules.md", update=update_golden)


def test_the_page_of_registers_is_up_to_date(update_golden: bool) -> None:
    page = register_page(VTAConfig(), HardwareConfig())
    check_golden_text(page, DOCS / "registers.md", update=update_golden)


def test_every_component_is_on_the_page_and_says_something() -> None:
    found = set()
    for module in pkgutil.walk_packages(hw.__path__, "hw."):
        if module.name.startswith("hw.sim"):
            continue
        for value in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(value) and issubclass(value, wiring.Component) and value.__module__.startswith("hw."):
                found.add(f"{value.__module__}.{value.__qualname__}")
    assert found - WIRES == {f"{component.__module__}.{component.__qualname__}" for component in COMPONENTS}
    assert all(len(component_text(component).splitlines()) >= 1 for component in COMPONENTS)


def test_parameters_and_ports_are_left_out() -> None:
    assert "Members" not in component_page()
    assert "Parameters" not in component_page()
