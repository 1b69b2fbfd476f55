# amaranth: UnusedElaboratable=no
"""The ports of every component, with their widths: what its neighbours, drivers and benches are built against."""

from pathlib import Path

import pytest
from amaranth.hdl import Shape
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from isa.config import VTAConfig
from tests.support.golden.golden_text import check_golden_text
from tests.support.hw.every_component import components
from tests.support.odd_configs import ODD_CONFIGS

GOLDEN = Path(__file__).parent / "golden"


def described(component: wiring.Component) -> str:
    """Return a component's name, and a line for each port."""
    lines = [type(component).__name__]
    for path, member in component.signature.members.flatten():
        if member.is_port:
            shape = Shape.cast(member.shape)
            kind = f"{'signed ' if shape.signed else ''}{shape.width}"
            lines.append(f"  {'in ' if member.flow == In else 'out'} {'.'.join(map(str, path))}: {kind}")
    return "\n".join(lines)


@pytest.mark.parametrize("name", ["default", "depthwise_int4"])
def test_every_component_has_the_ports_that_it_is_known_by(name: str, update_golden: bool) -> None:
    config = {"default": VTAConfig(), **ODD_CONFIGS}[name]
    text = "\n\n".join(described(component) for component in components(config))
    check_golden_text(text + "\n", GOLDEN / f"ports_{name}.txt", update=update_golden)


def test_no_component_is_left_out() -> None:
    root = Path(__file__).resolve().parents[2] / "hw"
    classes = {
        line.removeprefix("class ").partition("(")[0]
        for path in root.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith("class ") and "(wiring.Component)" in line
    }
    assert classes - {type(each).__name__ for each in components(VTAConfig())} == {
        "Harness"
    }  # of timing, no part of it
