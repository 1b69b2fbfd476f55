"""Integer graphs: from quantise and dequantise around float operators to operators on int8 and int32.

``integer_network`` is all of it. ``to_integers``, its middle, turns every region between integers into integer
operators, whose one meaning is numpy's (``vta.relay.interpreter``) and which the accelerator has; float operators that
stay keep their place between integers.
What runs where is not decided here (``vta.relay.backend``). Tests: tests/vta/relay/integer.
"""

from vta.relay.integer.convert import to_integers
from vta.relay.integer.limits import fold_limits
from vta.relay.integer.pipeline import integer_network

__all__ = ["fold_limits", "integer_network", "to_integers"]
"""The public names."""
