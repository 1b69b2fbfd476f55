"""What the exported Verilog tells Verilator's lint not to warn about, and why.

``verilator --lint-only -Wall`` passes on every export: what can be put right is, in the hardware or in
``hw.verilog.netlist_text``; the kinds of warnings here are left, and the text of the export switches them off.
Tests: ``tests/hw/verilog/test_verilog_lint.py``.
"""

from collections.abc import Mapping

__all__ = ["WAIVED", "waive"]

WAIVED: Mapping[str, str] = {
    "DECLFILENAME": "the modules of one design are one file, which is called as its user likes",
    "INITIALDLY": "the assignment at time 0 wakes processes that wait for an event; it has to come after they wait",
    "PROCASSINIT": "registers have the value of their reset at power-up too, as FPGAs give it to them",
    "UNUSEDSIGNAL": "signals and fields of the source are kept by name, whether something reads them or not",
    "WIDTHEXPAND": "a shorter operand is extended as the standard says, which is short to read and infers multipliers",
}
"""Kind of warning -> why it is of no use here."""


def waive(verilog: str) -> str:
    """Return ``verilog`` between comments that switch the warnings off, each with its reason, and on again."""
    lines = ["// verilator lint_save"]
    for kind, reason in WAIVED.items():
        lines += [f"// {kind}: {reason}", f"// verilator lint_off {kind}"]
    return "\n".join(lines) + f"\n\n{verilog}\n// verilator lint_restore\n"
