"""Native kernels of the functional simulator, generated with llvmlite for one configuration at a time.

``build.compile_kernels`` gives the two entry points: ``fetch`` copies and checks the words of a launch and sorts
them into the three module queues, ``run`` executes them in token order. Bit positions come from ``isa.layout``,
rules of legality from ``isa.legality``; the semantics are those of ``isa.reference``, against which everything here
is tested.

    emit        loops and arithmetic over llvmlite's builder
    machine     which dot product unit the host has, and LLVM's options for it
    geometry    sizes, strides and places in the arena, derived from the configuration
    record      the words through which Python and native code speak: counters, heads, errors
    decode      fields of an instruction, module routing, legality
    packing     elements in DRAM to lanes and back
    memory_ops  LOAD and STORE
    dot_unit    what a dot product unit offers; gemm_vnni, gemm_avx2, gemm_generic are the three
    gemm_block  the register-blocked inner loops
    gemm        loop analysis, bounds and blocking
    alu         ALU
    schedule    fetch, and the token scheduler
    build       one LLVM module from all that, compiled and cached
"""
