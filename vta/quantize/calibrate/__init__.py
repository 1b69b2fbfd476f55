"""Looking at a float network while it runs over data: what numbers every tensor takes, and the range that suits them.

What changes the network to lose less lies in ``vta.quantize.improve``.
"""
