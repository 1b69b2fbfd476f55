"""``@autotvm.template("name")``: a function that defines knobs, and makes a schedule of the values that were chosen.

While one runs, ``autotvm.get_config()`` is the space that it defines, or the choice that it makes a schedule of. The
library's own templates are in ``library.py``. Tests: tests/vta/autotvm/test_template.py.
"""

import contextlib
import functools
import itertools
import threading
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar

from vta.autotvm.errors import TuningError, TuningWarning
from vta.autotvm.history import best_config
from vta.autotvm.library import TEMPLATES
from vta.autotvm.made import Arguments, Made, Template
from vta.autotvm.space import ConfigEntity, ConfigSpace
from vta.autotvm.workload import placeholders, serialised
from vta.environment import Environment, get_env

__all__ = ["get_config", "template", "template_of"]

_CURRENT: ContextVar[ConfigSpace | ConfigEntity | None] = ContextVar("vta_autotvm_config", default=None)


class _Table:
    """The templates that scripts define: a decorator can leave them nowhere else."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, tuple[str, Template]] = {}

    def add(self, home: str, entry: Template) -> None:
        """Keep a template; a module that is imported anew defines its own again."""
        with self._lock:
            old, _ = self._known.get(entry.name, (home, None))
            if entry.name in TEMPLATES or old != home:
                owner = "the library" if entry.name in TEMPLATES else old
                raise TuningError(f"template {entry.name!r}: {owner} has one of that name; call it otherwise")
            self._known[entry.name] = (home, entry)

    def known(self) -> dict[str, Template]:
        """Return all templates that there are."""
        return {**TEMPLATES, **{name: entry for name, (_, entry) in self._known.items()}}


_TABLE = _Table()


def template_of(name: str) -> Template:
    """Return the template called ``name``; raises ``TuningError``."""
    known = _TABLE.known()
    if name not in known:
        raise TuningError(f"there is no template {name!r}; there are {', '.join(sorted(known))}")
    return known[name]


def template(name: str) -> Callable[[Callable[..., Made]], Callable[..., Made]]:
    """Make a function a template, known as ``name``.

    Called outside of tuning, it makes the best schedule that ``apply_history_best`` knows for its arguments, or the
    one of the plainest values, with a ``TuningWarning``.
    """

    def decorated(function: Callable[..., Made]) -> Callable[..., Made]:
        def define(space: ConfigSpace, arguments: Arguments, env: Environment) -> None:
            _run(function, space, arguments, env)

        def make(config: ConfigEntity, arguments: Arguments, env: Environment) -> Made:
            return _run(function, config, arguments, env)

        entry = Template(name, define, make)
        _TABLE.add(f"{function.__module__}.{function.__qualname__}", entry)

        @functools.wraps(function)
        def wrapper(*args: object) -> Made:
            if _CURRENT.get() is not None:
                return function(*args)
            arguments, env = tuple(serialised(argument) for argument in args), get_env()
            config = best_config((name, *arguments), env) or _plainest(entry, arguments, env)
            with _configured(config):
                return function(*args)

        return wrapper

    return decorated


def _run(
    function: Callable[..., Made], config: ConfigSpace | ConfigEntity, arguments: Arguments, env: Environment
) -> Made:
    names = (f"arg{number}" for number in itertools.count())
    with env, _configured(config):
        return function(*(placeholders(argument, names) for argument in arguments))


def _plainest(entry: Template, arguments: Arguments, env: Environment) -> ConfigEntity:
    space = ConfigSpace()
    entry.define(space, arguments, env)
    warnings.warn(
        f"template {entry.name!r} was not tuned for these arguments: it takes the first value of each knob; tune it, "
        "or give its records to autotvm.apply_history_best",
        TuningWarning,
        stacklevel=3,
    )
    return space.fallback()


@contextlib.contextmanager
def _configured(config: ConfigSpace | ConfigEntity) -> Iterator[None]:
    token = _CURRENT.set(config)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def get_config() -> ConfigSpace | ConfigEntity:
    """Return the space that is being defined, or the choice that a schedule is made of; only inside of a template."""
    config = _CURRENT.get()
    if config is None:
        raise TuningError("autotvm.get_config() is for the inside of a template that a task or a tuner runs")
    return config
