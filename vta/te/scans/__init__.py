"""Scans: tensors whose rows follow from earlier rows, ``te.scan``, and what is known of them.

Their loops are made with those of other stages (``vta.te.lowering``). Tests: tests/vta/te/test_scan.py,
test_scan_analysis.py.
"""
