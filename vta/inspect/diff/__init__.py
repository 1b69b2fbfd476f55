"""Engines, programs and traces in step, up to their first difference.

Single runs do not belong here (``vta.inspect.debug``). Tests: tests/vta/inspect/diff.
"""
