"""Looking into programs: engines and programs in step up to their first difference, and a debugger.

The checker and the sanitizer, which need the instruction set alone, are in ``isa``.
"""
