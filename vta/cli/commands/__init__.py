"""The commands of ``vta``, one module each; ``vta.cli.app`` lists them.

A command's options and what it prints belong here. What several commands share does not (``vta.cli``), nor the work
itself (the package that does it). Tests: tests/vta/cli.
"""
