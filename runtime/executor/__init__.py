"""Running a compiled network without the compiler: what it consists of, its file, and the runner.

A network is data: instruction words with the places of their addresses, weights, and steps of the host by name. What
makes one belongs to ``vta.relay``; nothing here imports ``vta``. Tests: tests/runtime/executor.
"""
