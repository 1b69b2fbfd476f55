"""What bounds a run, and what would change it: predictions from a recorded launch. Tests: tests/vta/inspect/explain."""

from vta.inspect.explain.advice import Advice, Explanation, explain
from vta.inspect.explain.errors import ExplainError
from vta.inspect.explain.run_model import RunModel

__all__ = ["Advice", "ExplainError", "Explanation", "RunModel", "explain"]
