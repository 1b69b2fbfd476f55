"""The first and the last instructions of a launch, in parts, so that modules need not wait for whole tiles.

It belongs here what cuts instructions (``cut_loops``, ``cut_transfers``, ``arriving``), puts the parts of neighbours in
turn (``taking_turns``), puts loads where they are needed (``late_loads``) or can begin (``early_loads``), joins what is
too short (``joined_uop_loads``), and says where that is worth while (``finer_ends``). Tokens come afterwards.
"""
