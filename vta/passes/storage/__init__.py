"""Passes about memory: flat buffers, lifetimes, and places in the scratchpads.

Where data lie belongs here. How they get there does not (``vta.passes.dma``). Tests: tests/vta/passes/storage.
"""
