"""From an integer graph to a compiled network: what runs on the accelerator, its kernels, memory, and the file's steps.

- ``kernel``, ``chains``, ``recognise``: which calls become one operator of ``vta.topi``, and why others do not
- ``lower``: an operator as launches without addresses, kept on disk by content
- ``assemble``: kernels and calls of the host as a ``runtime.executor`` network, with planned memory
- ``build``: all of it

Graphs as such belong to ``vta.relay``'s other rooms; running a network belongs to ``runtime.executor``.
Tests: tests/vta/relay/backend.
"""
