"""Passes that lowering runs only when an option asks for them, and passes that scripts run by themselves.

What every program needs belongs in the other rooms. Tests: tests/vta/passes/optional.
"""
