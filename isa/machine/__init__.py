"""What drivers, reports and hardware say to one another about a machine, as pure data.

The hardware configuration, the register map, error codes and causes of waiting belong here. Nothing in this folder
imports Amaranth, so a driver on a board can read it; hardware that follows these tables is in ``hw``.
Tests: tests/isa/machine, tests/hw.
"""
