"""Calling a test function with an environment and a session.

Tests: tests/vta/front/test_testing.py.
"""

from collections.abc import Callable

from vta.environment import Environment, get_env
from vta.rpc.local import LocalSession

__all__ = ["run"]


def run(run_func: Callable[[Environment, LocalSession], object]) -> None:
    """Call ``run_func(env, remote)`` with the current environment and a session on its TARGET."""
    env = get_env()
    run_func(env, LocalSession(env))
