"""Order between the accelerator's modules and the host: dependency tokens, barriers, synchronise calls.

Who waits for whom belongs here. Virtual threads do not (``vta.passes.vthread``). Tests: tests/vta/passes/sync.
"""
