"""Passes: functions from ``Function`` to ``Function``, one a file, each with a graph before and after.

A pass leaves what it does not change as the same objects, keeps the result's type, and keeps or merges origins. What is
inside of functions that are called is left alone. ``fusion`` makes kernels; ``plan_memory`` is the one that is no pass:
it says where each result lies. ``pipeline`` has the usual order.

TVM's names for passes (``FoldConstant()``, an object that takes modules) are in ``vta.relay.front.passes``, and are
found here as well.
"""

import importlib
from typing import Any


def __getattr__(name: str) -> Any:  # classes and functions
    passes = importlib.import_module("vta.relay.front.passes") if name[:1].isupper() else None
    if passes is None or name not in passes.__all__:
        raise AttributeError(f"module 'vta.relay.transform' has no attribute {name!r}")
    return getattr(passes, name)
