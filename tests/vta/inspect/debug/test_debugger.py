"""The debugger through scripts: what each command prints, breakpoints of every kind, and going back."""

import io

import pytest

from isa.text.assembler import assemble
from vta.inspect.debug.debugger import Debugger

TEXT = """\
.data A address=0x1000 type=int32 shape=4,16
    arange
.data I address=0x2000 type=int8 shape=2,16
    fill 2
.data W address=0x3000 type=int8 shape=16,16
    fill 3
.output C address=0x4000 type=int8 shape=4,16
.uop address=0x5000
dst=1 src=1 wgt=0
dst=0
.text
load.inp dram=I x=2
load.wgt dram=W x=1 push_next
load.acc dram=A x=4
load.uop dram=uops x=2
gemm uop=0:1 pop_prev @ "C_buf" "conv.py:31"
alu.add uop=1:2 iter=1,4 dst=0,1 imm=100 push_next
store dram=C x=4 pop_prev push_prev
finish pop_next
"""


def session(*commands: str, text: str = TEXT) -> list[str]:
    """Return the lines that a script prints."""
    out = io.StringIO()
    debugger = Debugger(assemble(text), io.StringIO(), out, first_address=0x1000, prompts=False)
    for command in commands:
        debugger.onecmd(command)
    return out.getvalue().splitlines()


GEMM = "4: gemm uop=0:1 iter=1,1 dst=0,0 src=0,0 wgt=0,0 pop_prev  ; C_buf (conv.py:31)"
ALU = "5: alu.add uop=1:2 iter=1,4 dst=0,1 src=0,0 imm=100 push_next"


def test_steps_go_forth_and_back() -> None:
    assert session("step 4", "step", "acc 1", "back", "acc 1", "back 2", "restart") == [
        GEMM,
        ALU,
        "ACC[1]: " + " ".join(str(16 + i + 96) for i in range(16)),
        GEMM,
        "ACC[1]: " + " ".join(str(16 + i) for i in range(16)),
        "2: load.acc sram=0 dram=0x40 y=1 x=4 stride=4",
        "0: load.inp sram=0 dram=0x200 y=1 x=2 stride=2",
    ]


def test_the_end_and_the_beginning_are_told() -> None:
    assert session("back", "step 99", "step", "goto 5", "goto 9", "goto 8") == [
        "error: this is the beginning of the program",
        "the program has ended",
        "error: the program has ended",
        ALU,
        "error: the program has 8 instructions, so there is no instruction 9",
        "the program has ended",
    ]


BREAKS = [
    ("5", "instruction 5", "the instruction is reached", 5),
    ("acc 1", "ACC element 1", "it writes ACC element 1", 2),
    ("acc 2:9", "ACC elements 2 to 8", "it writes ACC elements 2 to 3", 2),
    ("inp 1", "INP element 1", "it reads INP element 1", 4),
    ("wgt 0", "WGT element 0", "it writes WGT element 0", 1),
    ("uop 1", "UOP element 1", "it writes UOP element 1", 3),
    ("dram C", "DRAM bytes 0x4000 to 0x403f", "it writes DRAM bytes 0x4000 to 0x403f", 6),
    ("dram 0x3010", "DRAM bytes 0x3010 to 0x3010", "it reads DRAM bytes 0x3010 to 0x3010", 1),
    (
        "value",
        "a number that wraps or is cut",
        "STORE cuts ACC element 1, row 0, lane 0: 212 becomes -44 (and 47 more)",
        6,
    ),
]


@pytest.mark.parametrize(("what", "name", "reason", "index"), BREAKS)
def test_a_breakpoint_stops_before_the_instruction(what: str, name: str, reason: str, index: int) -> None:
    first, second, third, *_ = session(f"break {what}", "continue")
    assert first == f"breakpoint 1: {name}"
    assert second == f"breakpoint 1: {reason}"
    assert third.startswith(f"{index}: ")


def test_a_read_of_what_was_never_written_stops() -> None:
    lines = session(
        "break unwritten", "continue", "step", text=TEXT.replace("load.acc dram=A x=4", "load.acc dram=A x=3")
    )
    assert lines[:2] == [
        "breakpoint 1: a read of what was never written",
        "breakpoint 1: ALU reads ACC element 3, which nothing has written",
    ]
    assert lines[2] == ALU


def test_going_on_leaves_the_breakpoint_behind() -> None:
    assert session("b inp 1", "goto 1", "c", "c", "d 1", "restart", "c")[1:] == [
        "1: load.wgt sram=0 dram=0x30 y=1 x=1 stride=1 push_next",
        "breakpoint 1: it reads INP element 1",
        GEMM,
        "the program has ended",
        "0: load.inp sram=0 dram=0x200 y=1 x=2 stride=2",
        "the program has ended",
    ]


def test_micro_ops_that_are_read_stop_too() -> None:
    lines = session("break uop 0", "goto 4", "back", "step", "restart", "goto 3", "step", "continue")
    assert lines[-1] == "the program has ended"
    assert session("break uop 0", "goto 3", "continue")[-2:] == ["breakpoint 1: it reads UOP element 0", GEMM]


def test_breakpoints_are_listed_and_deleted() -> None:
    assert session("break", "break 3", "break dram I", "break", "delete 1", "break", "delete 7") == [
        "no breakpoints",
        "breakpoint 1: instruction 3",
        "breakpoint 2: DRAM bytes 0x2000 to 0x201f",
        "1: instruction 3",
        "2: DRAM bytes 0x2000 to 0x201f",
        "2: DRAM bytes 0x2000 to 0x201f",
        "error: there is no breakpoint 7",
    ]


def test_where_says_what_is_touched() -> None:
    assert session("where", "goto 3", "where", "step", "where", "goto 7", "w", "step", "w") == [
        "0: load.inp sram=0 dram=0x200 y=1 x=2 stride=2",
        "  writes INP elements 0 to 1 (2 in all)",
        "  reads DRAM bytes 0x2000 to 0x201f",
        "3: load.uop sram=0 dram=0x1400 y=1 x=2 stride=2",
        "3: load.uop sram=0 dram=0x1400 y=1 x=2 stride=2",
        "  writes UOP elements 0 to 1",
        "  reads DRAM bytes 0x5000 to 0x5007",
        GEMM,
        GEMM,
        "  reads ACC element 1 (1 in all)",
        "  reads INP element 1 (1 in all)",
        "  reads WGT element 0 (1 in all)",
        "  writes ACC element 1 (1 in all)",
        "7: finish pop_next",
        "7: finish pop_next",
        "  touches nothing",
        "the program has ended",
        "the program has ended",
    ]


def test_tiles_micro_ops_and_memory_are_shown() -> None:
    shown = session("goto 8", "inp 0:2", "uop 0:2", "wgt 0", "dram 0x4010:0x4014", "dram 0x2000", "dram C")[1:]
    assert shown[:4] == [
        "INP[0]: " + " ".join(["2"] * 16),
        "INP[1]: " + " ".join(["2"] * 16),
        "UOP[0]: dst=1 src=1 wgt=0",
        "UOP[1]: dst=0 src=0 wgt=0",
    ]
    assert shown[4:20] == [f"WGT[0, row {row}]: " + " ".join(["3"] * 16) for row in range(16)]
    assert shown[20:23] == [
        "0x00004010: d4 d5 d6 d7",
        "0x00002000: " + " ".join(["02"] * 16),
        "C: int8[4, 16] at 0x4000",
    ]
    assert shown[23].startswith("[[ 100  101  102")
    assert session("dram 0x900000") == ["memory ends at 0x6000"]


def test_tokens_and_heads_are_shown() -> None:
    assert session("goto 2", "queues")[1:] == [
        "tokens: l2g 1, g2l 0, g2s 0, s2g 0",
        "LOAD: nothing left",
        "COMPUTE: instruction 2: load.acc sram=0 dram=0x40 y=1 x=4 stride=4",
        "STORE: instruction 6: store sram=0 dram=0x400 y=1 x=4 stride=4 pop_prev push_prev "
        "(needs a token from g2s first)",
    ]


def test_the_listing_marks_the_next_instruction_and_breakpoints() -> None:
    assert session("break 5", "goto 4", "list 1")[2:] == [
        "      3  load.uop sram=0 dram=0x1400 y=1 x=2 stride=2",
        f">     {GEMM.replace(': ', '  ', 1)}",
        f" *    {ALU.replace(': ', '  ', 1)}",
    ]


def test_findings_are_the_sanitizers() -> None:
    assert session("findings")[0] == (
        "note: instruction 6: STORE cuts ACC element 1, row 0, lane 0: 212 becomes -44 (and 47 more)"
    )
    assert session("findings", text="finish") == ["nothing is wrong"]


BAD = [
    ("frobnicate", "'frobnicate' is no command: see 'help'"),
    ("b 99", "the program has 8 instructions, so there is no instruction 99"),
    ("break acc 5000", "ACC has 2048 elements, so there is no element 5000"),
    ("break acc x", "'x' is no number, no range N:M and no name of the program"),
    ("break dram 5:2", "'5:2' is no number, no range N:M and no name of the program"),
    (
        "break somewhere",
        "'somewhere' is nothing to stop for; expected the number of an instruction, 'acc N', 'inp N', 'wgt N', "
        "'uop N', 'dram ADDRESS', 'value' or 'unwritten'",
    ),
    ("acc 2048", "ACC has 2048 elements, so there is no element 2048"),
    ("inp", "'' is no number, no range N:M and no name of the program"),
    ("step x", "expected a number, not 'x'"),
]


@pytest.mark.parametrize(("command", "message"), BAD)
def test_a_command_that_cannot_be_done_is_one_sentence(command: str, message: str) -> None:
    assert session(command) == [f"error: {message}"]


def test_the_beginning_of_a_command_is_enough_if_it_is_one() -> None:
    assert session("rest") == ["0: load.inp sram=0 dram=0x200 y=1 x=2 stride=2"]
    assert session("qu") == ["error: 'qu' is more than one command: queues, quit"]
    assert session("", "   ") == []


def test_help_explains_every_command() -> None:
    names = [name.removeprefix("do_") for name in Debugger.get_names(Debugger) if name.startswith("do_")]
    for name in {*names} - {"EOF", "help"}:
        assert session(f"help {name}")[0].startswith(name), name


def test_illegal_micro_ops_are_shown_as_words() -> None:
    text = ".data U address=0x1000 type=int32 shape=1\n-1\n.text\nload.uop dram=0x400 x=1\ngemm uop=0:1\nfinish"
    assert session("step", "uop 0", text=text)[1] == "UOP[0]: dst=2047 src=2047 wgt=1023"


def test_a_deadlock_and_an_access_out_of_bounds_are_told() -> None:
    assert session("continue", text="nop.compute pop_prev\nfinish") == [
        "error: instruction 0 waits for a token from l2g that nothing before it gives"
    ]
    assert session("continue", text="nop.load\nload.inp sram=2047 x=2 dram=0x100\nfinish") == [
        "error: instruction 1: INP elements 2047 to 2048 are out of range, the buffer has 2048 elements"
    ]
    assert session("step", "where", text="nop.load\nload.inp sram=2047 x=2 dram=0x100\nfinish")[2] == (
        "  error: INP elements 2047 to 2048 are out of range, the buffer has 2048 elements"
    )


def test_a_terminal_gets_a_prompt_and_may_end_its_input() -> None:
    out = io.StringIO()
    Debugger(assemble(TEXT), io.StringIO("goto 5\nq\nstep\n"), out, first_address=0x1000).cmdloop()
    assert out.getvalue() == f"(vta) {ALU}\n(vta) "
    Debugger(assemble(TEXT), io.StringIO("step"), out, first_address=0x1000).cmdloop()
    assert out.getvalue().endswith("push_next\n(vta) ")


@pytest.mark.parametrize("number", ["²", "٣", "x", "-1", "9" * 5000])
@pytest.mark.parametrize("command", ["step", "goto", "delete", "list"])
def test_only_decimal_numbers_of_a_sensible_length_are_numbers(command: str, number: str) -> None:
    [line] = session(f"{command} {number}")
    assert line == f"error: expected a number, not {(number if len(number) < 9 else number[:40] + '...')!r}"


def test_a_breakpoint_with_odd_digits_is_refused() -> None:
    [line] = session("break ²")
    assert line.startswith("error: '²' is nothing to stop for; expected the number of an instruction")


@pytest.mark.parametrize("command", ["continue", "restart", "where", "queues", "findings", "quit"])
def test_a_command_without_arguments_takes_none(command: str) -> None:
    assert session(f"{command} now") == [f"error: {command} takes no argument, got 'now'"]


def test_help_explains_a_letter_too_and_refuses_what_is_no_command() -> None:
    assert session("help s") == ["step [N]: execute the next instruction, or N of them."]
    assert session("help frob") == ["error: 'frob' is no command: see 'help'"]
