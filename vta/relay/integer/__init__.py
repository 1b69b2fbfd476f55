"""The numbers behind integer operators: which multiplier and which shift stand for a real scale, and how well.

``requantisation`` is for one operand, ``weighted`` for sums of several; ``build`` makes calls of them, for whoever
translates a quantised network. Nothing here computes on tensors: the operators in ``vta/relay/ops/qnn`` do.
"""
