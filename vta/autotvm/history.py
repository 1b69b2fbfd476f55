"""The best that was measured, applied: ``with apply_history_best("records.log"):``.

Inside, templates make the best schedules of their records, and the library's operators take the tiles of theirs instead
of a search's. Tests: tests/vta/autotvm/test_history.py.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar

from vta.autotvm.library import tiles_of, workload_of
from vta.autotvm.measure.inputs import Hardware, MeasureInput, MeasureResult, hardware_of, sizes_of
from vta.autotvm.record import load_from_file
from vta.autotvm.space import ConfigEntity
from vta.autotvm.workload import Value
from vta.environment import Environment
from vta.target import Target
from vta.topi.core.operator import Operator
from vta.topi.core.tuned import tuned_by

__all__ = ["Records", "apply_history_best", "best_config", "best_of"]

Records = str | os.PathLike[str] | Iterable[tuple[MeasureInput, MeasureResult]]
Key = tuple[str, Hardware | None, tuple[Value, ...]]
"""Sizes of the accelerator, hardware (None: a record that does not say), workload."""

Best = Mapping[Key, tuple[MeasureInput, MeasureResult]]

_APPLIED: ContextVar[tuple[Best, ...]] = ContextVar("vta_autotvm_history", default=())


def best_of(records: Records) -> Best:
    """Return the fastest record of each task on each hardware; the first of several that are as fast."""
    found: dict[Key, tuple[MeasureInput, MeasureResult]] = {}
    for given, result in load_from_file(records) if isinstance(records, str | os.PathLike) else records:
        if result.error_no:
            continue
        key = (sizes_of(given.target), given.hardware, given.workload)
        if key not in found or result.cost < found[key][1].cost:
            found[key] = (given, result)
    return found


def _with_sketches(best: Best) -> Best:
    """Return ``best`` with the fastest for each epilogue whose constants are left out, beside it."""
    found: dict[Key, tuple[MeasureInput, MeasureResult]] = {}
    for (sizes, hardware, workload), record in best.items():
        key = (sizes, hardware, _sketch(workload))
        if key not in found or record[1].cost < found[key][1].cost:
            found[key] = record
    return {**found, **best}


def _sketch(workload: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return a task without the constants of its epilogue: what they are changes no tile."""
    match workload:
        case (*rest, tuple(steps)) if steps and all(isinstance(step, tuple) and step for step in steps):
            return (*rest, ("steps", *(step[0] for step in steps if isinstance(step, tuple))))
        case _:
            return workload


@contextlib.contextmanager
def apply_history_best(records: Records | None) -> Iterator[None]:
    """Apply the fastest of ``records``, a file or what ``load_from_file`` yields; of several ``with``, the innermost.

    Where none is for an operator's own constants of its epilogue, one for other constants is taken.

    Records are for the sizes of the accelerator in their target, whatever device it names, and for the hardware that
    they name; those that name none, such as TVM's, are for any.
    """
    if records is None:
        yield
        return
    token = _APPLIED.set((*_APPLIED.get(), _with_sketches(best_of(records))))
    try:
        with tuned_by(_tiles):
            yield
    finally:
        _APPLIED.reset(token)


def _tiles(operator: object, env: Environment) -> object | None:
    """Return the tiles that are applied for an operator of the library, if there are any."""
    if not isinstance(operator, Operator):
        return None
    workload = workload_of(operator, env)
    if workload is None:
        return None
    # Records of TVM do not say which epilogue they are for.
    config = best_config(workload, env) or best_config(_sketch(workload), env) or best_config(workload[:-1], env)
    return None if config is None else tiles_of(operator, config, env)


def best_config(workload: tuple[Value, ...], env: Environment) -> ConfigEntity | None:
    """Return the choice that is applied for ``workload`` on ``env``, or on the CPU inside of ``with`` its target."""
    target = Target.current()
    if target is not None and not target.is_accelerator:
        sizes, hardware = sizes_of(str(target)), None
    else:
        sizes, hardware = sizes_of(str(env.target)), hardware_of(env)
    for best in reversed(_APPLIED.get()):
        for key in ((sizes, hardware, workload), (sizes, None, workload)):
            if key in best:
                return best[key][0].config
    return None
