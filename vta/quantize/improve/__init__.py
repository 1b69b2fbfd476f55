"""Changes that make an int8 network lose less: weights moved between layers, biases corrected, rounding chosen.

Each returns new numbers and is kept only if the network's outputs come closer to the float ones on held data.
"""
