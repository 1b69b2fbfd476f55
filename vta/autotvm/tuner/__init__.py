"""Strategies of search; ``tuner.py`` has what they share: measuring, the best so far, going on from a log."""

from vta.autotvm.tuner.genetic import GATuner
from vta.autotvm.tuner.in_order import GridSearchTuner, RandomTuner
from vta.autotvm.tuner.learned import XGBTuner
from vta.autotvm.tuner.tuner import Tuner

__all__ = ["GATuner", "GridSearchTuner", "RandomTuner", "Tuner", "XGBTuner"]
