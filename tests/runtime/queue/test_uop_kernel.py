"""What a kernel recorder collects, its dump, and what it refuses."""

import re
from collections.abc import Callable

import pytest

from isa.instructions import AluOpcode, MicroOp
from runtime.queue.uop_kernel import KernelError, KernelMode, KernelOperation, KernelRecorder, UopKernel, UopLoop

GEMM = KernelOperation(mode=KernelMode.GEMM)
RESET = KernelOperation(mode=KernelMode.GEMM, reset=True)
ADD_3 = KernelOperation(mode=KernelMode.ALU, alu_opcode=AluOpcode.ADD, use_imm=True, imm=3)


def test_calls_become_a_nest() -> None:
    recorder = KernelRecorder()
    recorder.loop_begin(4, 1, 2, 3)
    recorder.loop_begin(5, 0, 0, -1)
    recorder.push(MicroOp(dst=1, src=2, wgt=3), GEMM)
    recorder.push(MicroOp(dst=1, src=2, wgt=4), GEMM)
    recorder.loop_end()
    recorder.loop_end()
    assert recorder.finish() == UopKernel(
        GEMM,
        (UopLoop(4, 1, 2, 3), UopLoop(5, 0, 0, -1)),
        (MicroOp(dst=1, src=2, wgt=3), MicroOp(dst=1, src=2, wgt=4)),
    )


def test_nothing_pushed_is_an_empty_kernel() -> None:
    recorder = KernelRecorder()
    recorder.loop_begin(4, 1, 2, 3)
    recorder.loop_end()
    assert recorder.finish().is_empty


def test_the_dump_has_a_line_for_each_micro_op() -> None:
    kernel = UopKernel(GEMM, (), (MicroOp(dst=1, src=2, wgt=3), MicroOp(dst=4)))
    assert str(kernel) == "There are 2 uops\n[0000]\t acc=1, inp=2, wgt=3\n[0001]\t acc=4, inp=0, wgt=0\n\n"


def beside(recorder: KernelRecorder) -> None:
    recorder.loop_begin(1, 0, 0, 0)
    recorder.loop_end()
    recorder.loop_begin(1, 0, 0, 0)


def after_micro_ops(recorder: KernelRecorder) -> None:
    recorder.push(MicroOp(), GEMM)
    recorder.loop_begin(1, 0, 0, 0)


def micro_op_after_a_loop(recorder: KernelRecorder) -> None:
    recorder.loop_begin(1, 0, 0, 0)
    recorder.push(MicroOp(), GEMM)
    recorder.loop_end()
    recorder.push(MicroOp(), GEMM)


def two_operations(recorder: KernelRecorder) -> None:
    recorder.push(MicroOp(), RESET)
    recorder.push(MicroOp(), ADD_3)


def reset_and_not(recorder: KernelRecorder) -> None:
    recorder.push(MicroOp(), GEMM)
    recorder.push(MicroOp(), RESET)


def open_loop(recorder: KernelRecorder) -> None:
    recorder.loop_begin(1, 0, 0, 0)
    recorder.finish()


BESIDE = (
    "micro-op kernel: a loop begins after micro-ops or beside a loop, but loops must enclose each other and all "
    "micro-ops; put each nest into a kernel of its own"
)


@pytest.mark.parametrize(
    ("calls", "message"),
    [
        (beside, BESIDE),
        (after_micro_ops, BESIDE),
        (
            micro_op_after_a_loop,
            "micro-op kernel: a micro-op follows the end of a loop, but loops must enclose all micro-ops; put it into "
            "a kernel of its own",
        ),
        (
            two_operations,
            "micro-op kernel: it does GEMM reset, and micro-op 1 does ALU ADD imm 3; one kernel does one operation",
        ),
        (
            reset_and_not,
            "micro-op kernel: it does GEMM, and micro-op 1 does GEMM reset; one kernel does one operation",
        ),
        (lambda r: r.loop_end(), "micro-op kernel: a loop ends, but none is open"),
        (lambda r: r.loop_begin(-1, 0, 0, 0), "micro-op kernel: a loop has 0 or more iterations, not -1"),
        (
            lambda r: r.push(MicroOp(dst=0, src=-1, wgt=2), GEMM),
            "micro-op kernel: indices count from 0, not dst 0, src -1, wgt 2",
        ),
        (open_loop, "micro-op kernel: it ends with 1 open loops"),
    ],
)
def test_what_is_no_nest_of_one_operation_is_refused(calls: Callable[[KernelRecorder], None], message: str) -> None:
    with pytest.raises(KernelError, match=f"^{re.escape(message)}$"):
        calls(KernelRecorder())


def test_operations_have_names() -> None:
    depthwise = KernelOperation(mode=KernelMode.GEMM, depthwise=True)
    fused = KernelOperation(mode=KernelMode.ALU, alu_opcode=AluOpcode.MAX, fused=True, imm=8)
    assert [str(each) for each in (GEMM, RESET, depthwise, ADD_3, fused)] == [
        "GEMM",
        "GEMM reset",
        "GEMM depthwise",
        "ALU ADD imm 3",
        "ALU MAX MIN shift 8",
    ]
