"""Running TIR on numpy arrays: the truth that lowering, passes and native code are tested against.

Python source made from TIR belongs here. Native code does not (``vta.codegen``). Tests:
tests/vta/tir/test_interpreter.py.
"""
