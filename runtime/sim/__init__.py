"""Native kernels of the functional simulator, generated with llvmlite for one configuration at a time.

``build.compile_kernels`` gives the two entry points: ``fetch`` copies and checks the words of a launch and sorts
them into the three module queues, ``run`` executes them in token order. Bit positions come from ``isa.layout``,
rules of legality from ``isa.legality``; the semantics are those of ``isa.reference``, against which everything here
is tested.

    emit        loops and arithmetic over llvmlite's builder
    code_path   which dot product unit the host has, and what LLVM makes the code for
    geometry    sizes, strides and places in the arena, derived from the configuration
    arena       the host memory of one simulator
    record      the numbers through which Python and native code speak: counters, heads, failures
    failures    how kernels count and fail; ``report`` says it to a person
    decode      fields of an instruction, module routing, legality
    packing     elements in DRAM to lanes and back
    memory_ops  LOAD and STORE; ``weights`` orders weight elements for the dot product units
    dot_unit    what a dot product unit offers; ``gemm_vnni``, ``gemm_avx2``, ``gemm_generic`` are the three
    loops       the loop nest of GEMM and ALU: micro-ops and bounds
    gemm        loop analysis and reset; ``gemm_block`` has the register-blocked inner loops
    alu         ALU
    launch_loop fetch, and the token scheduler
    build       one LLVM module from all that, compiled and cached
"""
