"""Programs as text: the assembler, its syntax tables, and the disassembler.

What reads or writes assembly belongs here. What an instruction is or means does not (``isa``), nor the binary file
(``isa.program_file``). Tests: tests/isa/text.
"""
