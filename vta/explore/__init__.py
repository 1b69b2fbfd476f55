"""Which accelerator to build for a network or a layer: cycles and area over a sweep of configurations.

``sweep`` reads what is varied, ``workload`` what runs, ``measure`` measures one configuration, ``study`` all of them,
into a log that a killed run goes on from; ``pareto``, ``table``, ``plot`` and ``html`` show what was found.
Tests: tests/vta/explore.
"""

from vta.explore.log import Log
from vta.explore.measure import Area, Cycles
from vta.explore.study import Outcome, Plan, explored, on_front
from vta.explore.sweep import ExploreError, Point, points_of
from vta.explore.workload import Workload, workload_of

__all__ = [
    "Area",
    "Cycles",
    "ExploreError",
    "Log",
    "Outcome",
    "Plan",
    "Point",
    "Workload",
    "explored",
    "on_front",
    "points_of",
    "workload_of",
]
