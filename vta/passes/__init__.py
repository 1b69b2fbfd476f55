"""The lowering passes, one a file, in a room for each part of the accelerator; ``pipelines`` has their order.

A module that several rooms need stands here: errors, pragmas, the axis of accelerator statements, memory scopes.
A pass stands in its room. Tests: tests/vta/passes.
"""
