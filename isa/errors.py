"""The one base of what this toolchain raises about what it was given; every subject has its own class beside its code.

Imports nothing, so that every package may import it. The classes keep Python's own bases beside this one, since scripts
that were written for TVM catch ``ValueError`` and ``RuntimeError``. Their list is docs/errors.md. Tests:
tests/test_errors.py.
"""

__all__ = ["VTAError"]


class VTAError(RuntimeError):
    """Something that was asked for cannot be done; the message is one sentence and the whole story."""
