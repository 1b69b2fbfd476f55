"""Tensorisation: intrinsics, and the proof that a nest of loops computes what one declares.

The matcher and what it replaces belong here. The accelerator's own intrinsic does not (``vta.intrin``).
Tests: tests/vta/te.
"""
