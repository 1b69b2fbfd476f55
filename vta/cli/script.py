"""Running a user's Python script inside this process, with an environment and a watch on what it compiles and launches.

Tests: tests/vta/cli/test_script_commands.py.
"""

import runpy
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from isa.config import VTAConfig
from runtime.devices.device import HardwareSetup
from runtime.observe.stats import Statistics
from runtime.queue.launch import Launch
from runtime.session import Session
from vta.chosen_session import session_chosen
from vta.cli.reporting import reported
from vta.compat.answering import answering
from vta.environment import Environment
from vta.own_packages import import_own_packages
from vta.transform import PassContext

__all__ = ["run_script"]


def run_script(
    path: Path,
    config: VTAConfig,
    arguments: Sequence[str] = (),
    *,
    hardware: HardwareSetup | None = None,
    session: Session | None = None,
    on_launch: Callable[[Launch, Session], None] | None = None,
    after_pass: Callable[[str, object], None] | None = None,
    inside: Sequence[Callable[[Session], AbstractContextManager[object]]] = (),
) -> Statistics:
    """Run the script as ``__main__`` with ``config`` and ``hardware`` as the environment; return the device's counters.

    All of its environments run on ``session`` if one is given, and on sessions of their own otherwise.
    ``on_launch`` sees each launch and its session before it runs, ``after_pass`` each function after each pass; the
    script runs in the contexts that ``inside`` makes of its session.
    """
    with ExitStack() as stack:
        env = stack.enter_context(Environment(config, hardware=hardware))
        if session is not None:
            stack.enter_context(session_chosen(session))
        if after_pass is not None:
            stack.enter_context(PassContext(instruments=(after_pass,)))
        if on_launch is not None:
            stack.enter_context(_listening(env, on_launch))
        for context in inside:
            stack.enter_context(context(env.session))
        stack.enter_context(_as_main(path, arguments))
        stack.enter_context(answering())
        with reported(script=path):
            runpy.run_path(str(path), run_name="__main__")
        return env.session.device.stats


@contextmanager
def _listening(env: Environment, on_launch: Callable[[Launch, Session], None]) -> Iterator[None]:
    session, listeners = env.session, env.session.queue.launcher.listeners

    def listen(launch: Launch) -> None:
        on_launch(launch, session)

    listeners.append(listen)
    try:
        yield
    finally:
        listeners.remove(listen)


@contextmanager
def _as_main(path: Path, arguments: Sequence[str]) -> Iterator[None]:
    """Give the script the arguments and the import path that ``python SCRIPT`` would."""
    argv, search = sys.argv, sys.path
    import_own_packages()
    sys.argv, sys.path = [str(path), *arguments], [str(path.resolve().parent), *search]
    try:
        yield
    finally:
        sys.argv, sys.path = argv, search
