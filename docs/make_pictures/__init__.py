"""The pictures of the documentation, each from a real run: ``make pictures`` makes all of them anew.

Tests: tests/integration/test_pictures.py.
"""
