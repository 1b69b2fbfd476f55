"""The operators on integers that stand for real numbers: ``real = (integer - zero_point) * scale``.

What computes, computes in int32 that wraps, with sums, products, minima, maxima and shifts: what the accelerator has.
So each of these operators has one meaning, and it is exact. ``vta.relay.integer`` makes them of real scales.
"""
