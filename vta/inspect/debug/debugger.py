"""The debugger's commands, on text in and out: ``vta debug`` gives it a terminal or a script.

Tests: tests/vta/inspect/debug/test_debugger.py.
"""

import cmd
from collections.abc import Callable
from typing import TextIO

from isa.errors import VTAError
from isa.instructions import MemoryId
from isa.printable import printable
from isa.program import Program
from isa.progress import counted
from vta.inspect.debug.breakpoints import Breakpoint, BreakpointError, decimal, parse_breakpoint, parse_range
from vta.inspect.debug.display import dram_text, listing, queues_text, tile_text, touched_text, where_text
from vta.inspect.debug.reversible import ReplayMachine, StepError

__all__ = ["Debugger"]


_LETTERS = {"b": "break", "c": "continue", "d": "delete", "l": "list", "q": "quit", "s": "step", "w": "where"}


_SHOWN = 40
"""How many letters of an argument an error repeats."""


class _CommandError(VTAError, ValueError):
    """A command that cannot be done."""


class Debugger(cmd.Cmd):
    """Commands on a ``ReplayMachine``. Each prints where the program stands if it moved.

    ``failed`` is whether the last command could not be done; ``paint`` makes lines printable, and gives them colours.
    """

    prompt = "(vta) "
    doc_header = "commands (help COMMAND explains one)"

    def __init__(
        self,
        program: Program,
        stdin: TextIO,
        stdout: TextIO,
        *,
        first_address: int = 0,
        prompts: bool = True,
        paint: Callable[[str], str] = printable,
    ) -> None:
        super().__init__(stdin=stdin, stdout=stdout)
        self.use_rawinput = prompts and stdin.isatty()
        if not prompts:
            self.prompt = ""
        self.machine = ReplayMachine(program, first_address=first_address)
        self.failed = False
        self._paint = paint
        self._breakpoints: dict[int, Breakpoint] = {}
        self._numbers = 0

    # --- moving ------------------------------------------------------------------------------------------------------

    def do_step(self, argument: str) -> None:
        """step [N]: execute the next instruction, or N of them."""
        self._move(min(self.machine.position + _count(argument), len(self.machine.program.instructions)), ahead=True)

    def do_back(self, argument: str) -> None:
        """back [N]: undo the last instruction, or N of them."""
        if self.machine.position == 0:
            raise _CommandError("this is the beginning of the program")
        self._move(max(0, self.machine.position - _count(argument)), ahead=False)

    def do_goto(self, argument: str) -> None:
        """goto N: execute, or go back, until instruction N is the next one."""
        index, count = _number(argument), len(self.machine.program.instructions)
        if index > count:
            raise _CommandError(f"the program has {count} instructions, so there is no instruction {index}")
        self._move(index, ahead=index > self.machine.position)

    def do_continue(self, argument: str) -> None:
        """continue: execute up to the next breakpoint, or to the end."""
        _nothing("continue", argument)
        machine, begin, reason = self.machine, self.machine.position, ""
        for position in counted(range(machine.position, len(machine.program.instructions)), "executing"):
            if position > begin and (reason := self._reason()):
                break
            machine.step()
        self._print(f"{reason}\n{where_text(machine)}" if reason else where_text(machine))

    def do_restart(self, argument: str) -> None:
        """restart: go back to before the first instruction."""
        _nothing("restart", argument)
        self._move(0, ahead=False)

    # --- breakpoints -------------------------------------------------------------------------------------------------

    def do_break(self, argument: str) -> None:
        """break WHAT: stop before an instruction. WHAT is one of

        12             instruction 12
        acc 5, inp 0:4, wgt 3, uop 1    one that touches these elements
        dram 0x1000:0x1040, dram C      one that touches these bytes, or a tensor of the program
        value          one that wraps a number or cuts it off
        unwritten      one that reads what nothing has written

        Without WHAT, the breakpoints are listed.
        """
        if not argument:
            lines = [f"{number}: {breakpoint_}" for number, breakpoint_ in self._breakpoints.items()]
            self._print("\n".join(lines) or "no breakpoints")
            return
        chosen = parse_breakpoint(argument, self.machine.program)
        self._numbers += 1
        self._breakpoints[self._numbers] = chosen
        self._print(f"breakpoint {self._numbers}: {chosen}")

    def do_delete(self, argument: str) -> None:
        """delete N: remove breakpoint N."""
        if self._breakpoints.pop(_number(argument), None) is None:
            raise _CommandError(f"there is no breakpoint {argument}")

    def _reason(self) -> str:
        """Say which breakpoint stops before the next instruction."""
        for number, stop in self._breakpoints.items():
            reason = stop.hit(self.machine)
            if reason:
                return f"breakpoint {number}: {reason}"
        return ""

    # --- looking -----------------------------------------------------------------------------------------------------

    def do_where(self, argument: str) -> None:
        """where: show the next instruction and what it touches."""
        _nothing("where", argument)
        lines = [where_text(self.machine)]
        if not self.machine.at_end:
            lines += [f"  {line}" for line in touched_text(self.machine).splitlines()]
        self._print("\n".join(lines))

    def do_list(self, argument: str) -> None:
        """list [N]: show N instructions before and after the next one (5)."""
        stops = [i for i in range(len(self.machine.program.instructions)) if self._stops_at(i)]
        self._print(listing(self.machine, _count(argument, 5), stops))

    def _stops_at(self, index: int) -> bool:
        return any(str(stop) == f"instruction {index}" for stop in self._breakpoints.values())

    def do_acc(self, argument: str) -> None:
        """acc N or acc N:M: show accumulator elements."""
        self._tiles(MemoryId.ACC, argument)

    def do_inp(self, argument: str) -> None:
        """inp N or inp N:M: show input elements."""
        self._tiles(MemoryId.INP, argument)

    def do_wgt(self, argument: str) -> None:
        """wgt N or wgt N:M: show weight elements, a line for each output row."""
        self._tiles(MemoryId.WGT, argument)

    def do_uop(self, argument: str) -> None:
        """uop N or uop N:M: show micro-ops in the on-chip buffer."""
        self._tiles(MemoryId.UOP, argument)

    def _tiles(self, memory: MemoryId, argument: str) -> None:
        begin, end = parse_range(argument)
        depth = self.machine.program.config.depth(memory)
        if end > depth:
            raise _CommandError(f"{memory.name} has {depth} elements, so there is no element {end - 1}")
        self._print(tile_text(self.machine, memory, begin, end))

    def do_dram(self, argument: str) -> None:
        """dram NAME, dram ADDRESS or dram BEGIN:END: show a tensor of the program, or bytes."""
        self._print(dram_text(self.machine, argument))

    def do_queues(self, argument: str) -> None:
        """queues: show the tokens in each queue and the next instruction of each module."""
        _nothing("queues", argument)
        self._print(queues_text(self.machine))

    def do_findings(self, argument: str) -> None:
        """findings: show what the sanitizer says about the program."""
        _nothing("findings", argument)
        self._print("\n".join(str(finding) for finding in self.machine.findings) or "nothing is wrong")

    # --- the loop ----------------------------------------------------------------------------------------------------

    def do_quit(self, argument: str) -> bool:
        """quit: leave."""
        _nothing("quit", argument)
        return True

    def do_help(self, arg: str) -> None:
        """help [COMMAND]: list the commands, or explain one."""
        name = _LETTERS.get(arg, arg)
        if name and not hasattr(self, f"do_{name}"):
            raise _CommandError(f"{_short(arg)!r} is no command: see 'help'")
        super().do_help(name)

    def do_EOF(self, _: str) -> bool:  # noqa: N802  # cmd's name for the end of input
        """End of input: leave."""
        return True

    def emptyline(self) -> bool:
        """Do nothing (by default, ``cmd`` would repeat the last command)."""
        return False

    def default(self, line: str) -> bool:  # type: ignore[override]  # cmd returns what it returns
        """Do what a letter stands for, or the one command that begins so; refuse anything else."""
        word, *rest = line.split(maxsplit=1)
        word = _LETTERS.get(word, word)
        names = [name.removeprefix("do_") for name in self.get_names() if name.startswith(f"do_{word}")]
        if len(names) != 1:
            known = ", ".join(sorted(names)) if names else "see 'help'"
            raise _CommandError(f"{word!r} is {'more than one command' if names else 'no command'}: {known}")
        return bool(getattr(self, f"do_{names[0]}")(" ".join(rest)))

    def onecmd(self, line: str) -> bool:
        """Do one command; one that cannot be done is a sentence, and ``failed``."""
        self.failed = False
        try:
            return bool(super().onecmd(line.strip()))
        except (_CommandError, StepError, BreakpointError) as error:
            self.failed = True
            self._print(f"error: {error}")
            return False

    def _move(self, position: int, *, ahead: bool) -> None:
        machine = self.machine
        if ahead and machine.at_end:
            raise StepError("the program has ended")
        machine.go_to(position)
        self._print(where_text(machine))

    def _print(self, text: str) -> None:
        print(self._paint(text), file=self.stdout)


def _number(text: str) -> int:
    number = decimal(text)
    if number is None:
        raise _CommandError(f"expected a number, not {_short(text)!r}")
    return number


def _nothing(command: str, argument: str) -> None:
    if argument:
        raise _CommandError(f"{command} takes no argument, got {_short(argument)!r}")


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _count(text: str, default: int = 1) -> int:
    return _number(text) if text else default
