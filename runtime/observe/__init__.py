"""What is told of a launch: its dump, statistics, timeline, and where its cycles went.

A format for looking at launches belongs here. What changes a launch does not, nor files and pages (``vta.inspect``).
Tests: tests/runtime/observe.
"""
