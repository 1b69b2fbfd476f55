"""Runs scripts that were written for TVM's VTA, unmodified: ``python -m vta.compat SCRIPT.py``.

Tests: tests/vta/compat.
"""
