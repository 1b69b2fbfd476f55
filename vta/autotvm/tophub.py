"""Records that are shipped: the fastest that were measured of the layers that upstream's tests and tutorials have.

``python -m bench.tuning --write`` makes them. Tests: tests/vta/autotvm/test_tophub.py.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from vta.autotvm.history import Records, apply_history_best

__all__ = ["SHIPPED", "context"]

SHIPPED = Path(__file__).parent / "tophub.log"
"""The file of them."""


@contextlib.contextmanager
def context(
    target: object = None,  # noqa: ARG001  # records say which sizes they are for
    extra_files: Sequence[str | os.PathLike[str]] | None = None,
) -> Iterator[None]:
    """Apply the records that are shipped, and before them those of ``extra_files``, of which the last goes first."""
    files: list[Records] = [SHIPPED, *(extra_files or ())]
    with contextlib.ExitStack() as stack:
        for file in files:
            stack.enter_context(apply_history_best(file))
        yield
