"""Virtual threads: several copies of a nest interleaved in one program.

The expansion of threads and what depends on a thread belong here. The tokens between them do not
(``vta.passes.sync``). Tests: tests/vta/passes/vthread.
"""
