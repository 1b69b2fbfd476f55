"""What operators of networks are: one family a file, with attributes, type relations, numpy meaning, rows of the table.

``table`` joins the rows; ``types``, ``attributes`` and ``names`` are what they are said in; ``qnn`` has the integer
ones. They are here, below the compiler, because a compiled network runs them on the host where the accelerator does
not; ``vta.relay.ops`` makes graphs of them.
"""
