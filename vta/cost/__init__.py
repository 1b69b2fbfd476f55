"""How many cycles an operator takes on given hardware, without running it: ``vta.cost.predict``.

The models belong to the operators (``vta/topi``), whose searches choose tiles with them; what asks them for others
lives here. Measuring does not: that is ``tsim``, and ``vta/autotvm`` for many candidates.
"""

from vta.cost.prediction import CostError, Part, Prediction, predict

__all__ = ["CostError", "Part", "Prediction", "predict"]
