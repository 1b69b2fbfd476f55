"""The devices that run launches: one interface, several engines.

What makes an engine a device belongs here. The engines do not: ``isa.reference``, ``runtime.sim``, ``hw``.
Tests: tests/runtime/devices, tests/runtime/sim.
"""
