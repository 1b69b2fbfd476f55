"""The VTA instruction set: configuration, encodings, programs, assembler, reference interpreter, checker."""
