"""Graphs as text: the printer, and the parser that reads what it prints.

    def @main(%x: Tensor[(1, 4), float32]) -> Tensor[(1, 4), float32] {
      %0: Tensor[(1, 4), float32] = nn.relu(%x) from Relu "relu1";
      %0
    }

Every node but variables and constants has a line and a number; ``from`` names its origins. Attributes stand behind the
arguments, those that have their default value are left out. Small constants are written out; large ones are numbered,
``#0``, and the arrays go beside the text (``text_and_constants``).
"""
