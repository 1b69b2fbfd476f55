"""Copies under ``dma_copy`` become LOADs and STOREs.

Recognising and cutting copies belongs here. The runtime's splitting of one call does not (``runtime.queue.transfer``).
Tests: tests/vta/passes/dma.
"""
