"""ONNX models as graphs: ``from_onnx`` reads a file or a model and returns a function of relay operators.

Every attribute of a node is taken in full, or the node is refused by its name with what would help. Quantised graphs
keep their ``QuantizeLinear`` and ``DequantizeLinear`` as operators; a pass makes integers of them.

- ``loading``: files, with limits and external data; what is not a sound model is refused here
- ``node``: one node with its inputs and attributes, for converters
- ``importer``: the walk over a graph
- ``convert``: the converters, by family

Tests: tests/vta/relay/onnx.
"""
