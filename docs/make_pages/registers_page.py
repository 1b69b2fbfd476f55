"""The page of the documentation about the control registers, from the register map.

Tests: ``tests/docs/test_hardware_pages.py``.
"""

from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from isa.machine.register_map import Access, control_registers

__all__ = ["register_page"]


def register_page(vta: VTAConfig, hardware: HardwareConfig) -> str:
    """Return the page of the documentation, in Markdown, for one pair of configurations."""
    lines = [
        "# Control registers",
        "",
        "32-bit words behind an AXI4-Lite port; generated from `isa/machine/register_map.py`. A register of more than",
        "32 bits has its high word 4 bytes above. Every other address reads as zero. Digests differ from configuration",
        "to configuration; those of the default one are shown.",
        "",
        "| offset | register | bits | access | meaning |",
        "|---|---|---|---|---|",
    ]
    for entry in control_registers(vta, hardware):
        access = entry.access.value
        if entry.access is Access.CONSTANT:
            access += f" {entry.value:#x}"
        lines.append(f"| {entry.offset:#04x} | {entry.name} | {entry.width} | {access} | {entry.doc} |")
    return "\n".join(lines) + "\n"
