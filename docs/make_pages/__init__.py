"""The pages of the documentation that are made from the code's own tables and docstrings.

Pictures do not belong here (``docs.make_pictures``). Tests: tests/docs.
"""
