"""Integer graphs: from quantise and dequantise around float operators to operators on int8 and int32.

``to_integers`` turns every region between integers into integer operators, whose one meaning is numpy's
(``vta.relay.interpreter``) and which the accelerator has; float operators that stay keep their place between integers.
What runs where is not decided here (``vta.relay.backend``). Tests: tests/vta/relay/integer.
"""

from vta.relay.integer.convert import to_integers
from vta.relay.integer.limits import fold_limits

__all__ = ["fold_limits", "to_integers"]
"""The public names."""
