"""Hybrid script: a checked subset of Python as a computation, which numpy runs too.

``@te.hybrid.script`` (``script``), its meaning as statements (``parser``, ``expressions``) and as Python on numpy's
arrays (``emulation``), and lowered schedules as such functions (``module``, ``source_text``). What lowering makes of
the operation is in ``vta/te/lowering``.
"""

from vta.te.hybrid.emulation import HYBRID_GLOBALS
from vta.te.hybrid.errors import HybridError
from vta.te.hybrid.module import HybridModule, build
from vta.te.hybrid.script import script

__all__ = ["HYBRID_GLOBALS", "HybridError", "HybridModule", "build", "script"]
