"""Converters: from one ONNX node to the relay expressions of its outputs, a module a family of operators.

A converter is a function of a ``Node``. It reads every attribute that it knows; what it does not read makes the node
refused. ``table`` has them all by operator. Tests: tests/vta/relay/onnx.
"""
