"""The programs in a file: the one that it holds, those in a capsule, or those that a Python script launches.

Tests: tests/vta/cli/test_diff.py, tests/vta/cli/test_check.py.
"""

from pathlib import Path

from isa.limits import DEFAULT_LIMITS, Limits
from isa.program import Program
from runtime.queue.launch import Launch
from runtime.session import Session
from vta.cli.capsule import is_capsule
from vta.cli.options import chosen_config, given_config
from vta.cli.program_file import read_program
from vta.cli.reporting import UserError, require_file
from vta.cli.script import run_script
from vta.inspect.capsule import load_capsule

__all__ = ["one_program", "programs_of"]


def programs_of(
    file: Path, config: Path | None, target: str | None = None, *, limits: Limits = DEFAULT_LIMITS
) -> list[Program]:
    """Return the program in ``file`` or those in a capsule; of a ``.py`` script that is run, every launch.

    Launches of scripts come with their buffers as they were just before.
    """
    require_file(file, "a .vta or binary program, a capsule or a .py script")
    if is_capsule(file):
        return list(load_capsule(file, limits=limits).programs)
    if file.suffix != ".py":
        return [read_program(file, config=given_config(config), limits=limits)]
    programs: list[Program] = []

    def keep(launch: Launch, session: Session) -> None:
        programs.append(launch.program(session.memory))

    run_script(file, chosen_config(config, target), on_launch=keep)
    if not programs:
        raise UserError(f"{file}: the script launched nothing")
    return programs


def one_program(file: Path, config: Path | None, launch: int, *, limits: Limits = DEFAULT_LIMITS) -> Program:
    """Return program number ``launch`` of ``file``, counted from 0."""
    programs = programs_of(file, config, limits=limits)
    if launch >= len(programs):
        count = len(programs)
        raise UserError(f"{file}: launch {launch} is asked for, and there {'are' if count > 1 else 'is'} {count}")
    return programs[launch]
