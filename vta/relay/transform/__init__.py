"""Passes: functions from ``Function`` to ``Function``, one a file, each with a graph before and after.

A pass leaves what it does not change as the same objects, keeps the result's type, and keeps or merges origins. What is
inside of functions that are called is left alone. ``fusion`` makes kernels; ``plan_memory`` is the one that is no pass:
it says where each result lies. ``pipeline`` has the usual order.
"""
