"""LLVM for all of the toolchain: what code is made for, compiling it, linking it into this process, keeping it.

    target      a computer to make code for, and this one's processor
    compiling   LLVM assembly to an object file
    linking     an object file into this process
    cache       what was compiled, for the next process
    thread_pool threads for parallel loops of compiled code
    garbage     the collector, off while millions of objects are made that all stay

What any producer of LLVM text needs belongs here. What the text computes does not: host programs are ``vta.codegen``'s,
the functional simulator's kernels ``runtime.sim``'s, a design's cells ``hw.sim``'s. Tests: tests/runtime/native.
"""
