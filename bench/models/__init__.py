"""Networks to measure with: well-known shapes with seeded weights, as ONNX, and their int8 forms by onnxruntime's tool.

What measures them stands in ``bench``. Tests: tests/integration/test_models.py.
"""
