# amaranth: UnusedElaboratable=no
"""Names in the generated Verilog: what a bench or a design around the accelerator may rely on."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.core import Core
from hw.top import Top
from hw.verilog import Shell, component_to_verilog, to_verilog
from isa.machine.hardware_config import HardwareConfig
from tests.support.benches.cocotb_run import Build, build, ports, run
from tests.support.benches.cocotb_suite import CORE_SIGNALS, SMALL, build_for
from tests.support.hw.verilog_tools import compile_with_icarus

ROOT = Path(__file__).parents[2]
HARDWARE = HardwareConfig()

KEYWORDS = frozenset(
    """
    accept_on alias always always_comb always_ff always_latch and assert assign assume automatic before begin bind bins
    binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle checker class clocking cmos config const
    constraint context continue cover covergroup coverpoint cross deassign default defparam design disable dist do edge
    else end endcase endchecker endclass endclocking endconfig endfunction endgenerate endgroup endinterface endmodule
    endpackage endprimitive endprogram endproperty endsequence endspecify endtable endtask enum event eventually expect
    export extends extern final first_match for force foreach forever fork forkjoin function generate genvar global
    highz0 highz1 if iff ifnone ignore_bins illegal_bins implements implies import incdir include initial inout input
    inside instance int integer interconnect interface intersect join join_any join_none large let liblist library local
    localparam logic longint macromodule matches medium modport module nand negedge nettype new nexttime nmos nor
    noshowcancelled not notif0 notif1 null or output package packed parameter pmos posedge primitive priority program
    property protected pull0 pull1 pulldown pullup pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase
    randsequence rcmos real realtime ref reg reject_on release repeat restrict return rnmos rpmos rtran rtranif0
    rtranif1 s_always s_eventually s_nexttime s_until s_until_with scalared sequence shortint shortreal showcancelled
    signed small soft solve specify specparam static string strong strong0 strong1 struct super supply0 supply1
    sync_accept_on sync_reject_on table tagged task this throughout time timeprecision timeunit tran tranif0 tranif1 tri
    tri0 tri1 triand trior trireg type typedef union unique unique0 unsigned until until_with untyped use uwire var
    vectored virtual void wait wait_order wand weak weak0 weak1 while wildcard wire with within wor xnor xor
    """.split()  # noqa: SIM905  # a paragraph is easier to read than 248 quoted words
)
"""Reserved words of SystemVerilog (IEEE 1800-2017), those of Verilog among them."""

_DECLARED = re.compile(
    r"^\s+(?:input|output|wire|reg)\s+(?:signed\s+)?(?:\[\d+:\d+\] )?(\S+?)\s*(?:\[\d+:\d+\])?(?: =.*)?;$", re.M
)
_PORT = re.compile(r"^\s+((?:input|output) (?:\[\d+:\d+\] )?\S+);$", re.M)


@pytest.fixture(scope="module")
def axi_text() -> str:
    return to_verilog(SMALL, HARDWARE, shell="axi")


@pytest.fixture(scope="module")
def core_text() -> str:
    return to_verilog(SMALL, HARDWARE, shell="core")


def declared_ports(text: str, top: str) -> list[str]:
    """Return the port declarations of module ``top``, such as ``input [31:0] a``, in their order."""
    start = re.search(rf"^module {top}\s*\(", text, re.M)
    assert start is not None
    return _PORT.findall(text[start.end() : text.index("endmodule", start.end())])


def documented_ports(shell: Shell) -> list[str]:
    """Return the ports that ``docs/hardware-tests.md`` lists for a shell, one a line below its heading."""
    page = (ROOT / "docs" / "hardware-tests.md").read_text(encoding="utf-8")
    block = page.split(f"### Ports of the {shell} shell", 1)[1].split("```", 2)[1]
    return [line for line in block.splitlines()[1:] if line]


def test_br_035_the_axi_shell_has_the_documented_ports(axi_text: str) -> None:
    assert declared_ports(axi_text, "vta") == documented_ports("axi")


def test_br_035_the_core_shell_has_the_documented_ports(core_text: str) -> None:
    assert declared_ports(core_text, "vta_core") == documented_ports("core")


def test_br_035_ports_are_the_members_of_the_signature(axi_text: str, core_text: str) -> None:
    for component, text, top in (
        (Top(SMALL, HARDWARE), axi_text, "vta"),
        (Core(SMALL, HARDWARE), core_text, "vta_core"),
    ):
        names = ports(component)
        got = declared_ports(text, top)
        for direction, kind in (("input", "inputs"), ("output", "outputs")):
            found = {line.split()[-1] for line in got if line.startswith(direction)}
            assert found - {"clk", "rst"} == set(names[kind])


def test_br_035_another_process_exports_the_same_text(core_text: str) -> None:
    code = (
        "from isa.config import VTAConfig; from isa.machine.hardware_config import HardwareConfig;"
        "from hw.verilog import to_verilog;"
        f"print(to_verilog(VTAConfig.from_dict({SMALL.to_dict()!r}), HardwareConfig(), shell='core'), end='')"
    )
    again = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={"PYTHONHASHSEED": "12345", "PATH": "/usr/bin:/bin"},
    )
    assert again.stdout == core_text


def test_br_036_no_name_is_a_reserved_word(axi_text: str) -> None:
    names = set(_DECLARED.findall(axi_text))
    assert len(names) > 500
    assert {name for name in names if name.isidentifier()} & KEYWORDS == set()


class Reserved(wiring.Component):
    """Ports, a register and a submodule that are called like words of the language; a signal that nothing drives."""

    def __init__(self, *, leaf: bool = False) -> None:
        self.leaf = leaf
        super().__init__({"input": In(4), "output": Out(4)})

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002  # Amaranth's signature
        m = Module()
        register = Signal(4, name="reg")
        nothing = Signal(4, name="undriven")
        m.d.sync += register.eq(self.input + nothing)
        if self.leaf:
            m.d.comb += self.output.eq(register)
        else:
            m.submodules["always"] = leaf = Reserved(leaf=True)
            m.d.comb += [leaf.input.eq(register), self.output.eq(leaf.output)]
        return m


def test_br_035_a_signal_that_nothing_drives_is_no_port() -> None:
    assert "module reserved(clk, rst, \\input , \\output );" in component_to_verilog(Reserved(), name="reserved")


def test_br_036_names_that_are_words_of_the_language_are_escaped(tmp_path: Path) -> None:
    file = tmp_path / "module.v"
    file.write_text(component_to_verilog(Reserved(), name="module"))
    for standard in ("2005", "2012"):
        assert compile_with_icarus(file, standard=standard) == ""


def test_br_036_an_independent_front_end_reads_every_module(axi_text: str, tmp_path: Path) -> None:
    build(Top(SMALL, HARDWARE), top="vta", folder=tmp_path, verilog=axi_text)


@pytest.fixture(scope="module", params=["2005", "2012"])
def core(core_text: str, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Build:
    """The core, compiled as Verilog and as SystemVerilog: combinational processes wake at time 0 in both."""
    folder = tmp_path_factory.mktemp("core")
    built, _ = build_for("vta_core", folder, verilog=core_text, arguments=(f"-g{request.param}",))
    return built


def test_br_041_the_done_port_keeps_its_name_and_reset_value(core: Build) -> None:
    run(core, "tests.cocotb.bench_core", tests="br_041_the_done_port_is_its_register_in_every_cycle")


def test_br_043_ports_and_documented_signals_are_plain_attributes(core: Build) -> None:
    name = "br_043_ports_and_documented_signals_are_plain_attributes"
    run(core, "tests.cocotb.bench_core", tests=name)
    page = (ROOT / "docs" / "hardware-tests.md").read_text(encoding="utf-8")
    for path, meaning in CORE_SIGNALS.items():
        assert f"| `{path}` | {meaning} |" in page
