"""Configurations that come with the package, one JSON file each: ``isa.named_config`` finds them by name.

No code belongs here. Tests: tests/isa/test_config.py, tests/isa/test_named_config.py.
"""
