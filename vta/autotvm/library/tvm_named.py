"""The templates that TVM-VTA has too, under its names: convolutions, dense layers, sums and products of two tensors.

A task's arguments are those of TVM's records, and the epilogue behind them (left out: ``>> 8`` and a clip to 0..127, as
in TVM-VTA's tuning). The knobs are the choices of the library's schedules. Records of TVM-VTA, which have virtual
threads instead of copies in turn, are applied as they are to convolutions in one group and dense layers.
Tests: tests/vta/autotvm/library/test_tvm_named.py.
"""

from collections.abc import Callable, Mapping

from isa.printable import short
from vta.autotvm.errors import TuningError
from vta.autotvm.library.choices import define, make
from vta.autotvm.made import Arguments, Template
from vta.autotvm.workload import Value, steps_of, written_steps
from vta.environment import Environment
from vta.topi.alu.elementwise import Binary, BinaryOperation
from vta.topi.conv.conv2d_operator import Conv2d
from vta.topi.core.epilogue import Bias, Clip, Epilogue, ShiftRight
from vta.topi.core.layout import blocks
from vta.topi.core.operator import Operator
from vta.topi.matmul.batch_matmul import Matmul
from vta.topi.matmul.dense import Dense
from vta.topi.transposed.conv2d_transpose_operator import Conv2dTranspose

__all__ = ["TEMPLATES", "workload_of"]

_CONV, _DENSE = "conv2d_packed.vta", "dense_packed.vta"
_GROUPS, _TRANSPOSED = "group_conv2d_packed.vta", "conv2d_transpose_packed.vta"
_BINARY = {"add.vta": BinaryOperation.ADD, "multiply.vta": BinaryOperation.MULTIPLY}
_USUAL: Epilogue = (ShiftRight(8), Clip(0, 127))


def workload_of(operator: Operator, env: Environment) -> tuple[Value, ...] | None:
    """Return the template and the arguments that stand for ``operator`` on ``env``; None if none of these does."""
    match operator:
        case Conv2d(groups=1):
            return (_CONV, *_conv_arguments(operator.plain(env), env))
        case Matmul():
            return workload_of(operator.layer, env)
        case Dense(out_dtype="int8"):
            steps = (Bias(), *operator.epilogue) if operator.zero_point else operator.epilogue
            rows, inner = blocks(operator.rows, env.BATCH), blocks(operator.in_channels, env.BLOCK_IN)
            columns = blocks(operator.out_channels, env.BLOCK_OUT)
            data = ("TENSOR", (rows, inner, env.BATCH, env.BLOCK_IN), env.inp_dtype)
            weight = ("TENSOR", (columns, inner, env.BLOCK_OUT, env.BLOCK_IN), env.wgt_dtype)
            return (_DENSE, data, weight, None, env.acc_dtype, written_steps(steps))
        case _:
            return None


# --- convolutions


def _conv_arguments(layer: Conv2d, env: Environment) -> tuple[Value, ...]:
    inputs, outputs = blocks(layer.in_channels, env.BLOCK_IN), blocks(layer.out_channels, env.BLOCK_OUT)
    data = (blocks(layer.batch, env.BATCH), inputs, layer.height, layer.width, env.BATCH, env.BLOCK_IN)
    kernel = (outputs, inputs, *layer.kernel, env.BLOCK_OUT, env.BLOCK_IN)
    return (
        ("TENSOR", data, env.inp_dtype),
        ("TENSOR", kernel, env.wgt_dtype),
        layer.strides,
        layer.padding,
        layer.dilation,
        f"NCHW{env.BATCH}n{env.BLOCK_IN}c",
        env.acc_dtype,
        written_steps(layer.epilogue),
    )


def _convolution(arguments: Arguments, env: Environment) -> Conv2d:
    """Return the operator that a task's arguments describe; raises ``TuningError``."""
    match arguments:
        case (
            ("TENSOR", (int(n), int(ci), int(h), int(w), batch, block_in), _),
            ("TENSOR", (int(co), int(taken), int(kh), int(kw), block_out, block_k), _),
            (int(sh), int(sw)),
            (int(top), int(left), int(bottom), int(right)),
            (int(dh), int(dw)),
            str(),
            str(),
            *steps,
        ) if taken == ci and len(steps) < 2:
            _require_blocks(_CONV, (batch, block_in, block_out, block_k), env)
            return Conv2d(
                batch=n * env.BATCH,
                in_channels=ci * env.BLOCK_IN,
                height=h,
                width=w,
                out_channels=co * env.BLOCK_OUT,
                kernel=(kh, kw),
                strides=(sh, sw),
                padding=(top, left, bottom, right),
                dilation=(dh, dw),
                epilogue=steps_of(steps[0]) if steps else _USUAL,
                fold=(1, 1),
            )
        case _:
            raise TuningError(
                f"{_CONV} takes packed data and kernel, strides, four pads, dilation, layout, out_dtype and steps, not "
                f"{short(arguments)}"
            )


# --- dense layers


def _dense(arguments: Arguments, env: Environment) -> Dense:
    """Return the operator that a task's arguments describe; raises ``TuningError``."""
    match arguments:
        case (
            ("TENSOR", (int(rows), int(inner), batch, block_in), _),
            ("TENSOR", (int(columns), int(taken), block_out, block_k), _),
            None,
            str(),
            *steps,
        ) if taken == inner and len(steps) < 2:
            _require_blocks(_DENSE, (batch, block_in, block_out, block_k), env)
            epilogue = steps_of(steps[0]) if steps else _USUAL
            return Dense(rows * env.BATCH, inner * env.BLOCK_IN, columns * env.BLOCK_OUT, epilogue)
        case _:
            raise TuningError(
                f"{_DENSE} takes packed data and weight, None, out_dtype and steps, not {short(arguments)}"
            )


# --- convolutions in groups, transposed ones


def _grouped(arguments: Arguments, env: Environment) -> Conv2d:
    """Return the operator that a task's arguments describe; raises ``TuningError``."""
    match arguments:
        case (
            ("TENSOR", (int(n), int(ci), int(h), int(w), batch, block_in), _),
            ("TENSOR", (int(co), int(taken), int(kh), int(kw), block_out, block_k), _),
            (int(sh), int(sw)),
            (int(top), int(left), int(bottom), int(right)),
            (int(dh), int(dw)),
            int(groups),
            str(),
            *steps,
        ) if taken * groups == ci and len(steps) < 2:
            _require_blocks(_GROUPS, (batch, block_in, block_out, block_k), env)
            return Conv2d(
                batch=n * env.BATCH,
                in_channels=ci * env.BLOCK_IN,
                height=h,
                width=w,
                out_channels=co * env.BLOCK_OUT,
                kernel=(kh, kw),
                strides=(sh, sw),
                padding=(top, left, bottom, right),
                dilation=(dh, dw),
                groups=groups,
                epilogue=steps_of(steps[0]) if steps else _USUAL,
            )
        case _:
            raise TuningError(
                f"{_GROUPS} takes packed data and kernel, strides, four pads, dilation, groups, out_dtype and steps, "
                f"not {short(arguments)}"
            )


def _transposed(arguments: Arguments, env: Environment) -> Conv2dTranspose:
    """Return the operator that a task's arguments describe; raises ``TuningError``."""
    match arguments:
        case (
            ("TENSOR", (int(n), int(ci), int(h), int(w), batch, block_in), _),
            ("TENSOR", (int(co), int(taken), int(kh), int(kw), block_out, block_k), _),
            (int(sh), int(sw)),
            (int(top), int(left), int(bottom), int(right)),
            str(),
            (int(below), int(behind)),
            *steps,
        ) if taken == ci and len(steps) < 2:
            _require_blocks(_TRANSPOSED, (batch, block_in, block_out, block_k), env)
            return Conv2dTranspose(
                batch=n * env.BATCH,
                in_channels=ci * env.BLOCK_IN,
                height=h,
                width=w,
                out_channels=co * env.BLOCK_OUT,
                kernel=(kh, kw),
                strides=(sh, sw),
                padding=(top, left, bottom, right),
                output_padding=(below, behind),
                epilogue=steps_of(steps[0]) if steps else _USUAL,
            )
        case _:
            raise TuningError(
                f"{_TRANSPOSED} takes packed data and kernel, strides, four pads, out_dtype, output_padding and steps, "
                f"not {short(arguments)}"
            )


# --- two tensors


def _binary(name: str, arguments: Arguments, env: Environment) -> Binary:
    """Return the operator that a task's arguments describe; raises ``TuningError``."""
    match arguments:
        case (
            ("TENSOR", (int(n), int(c), int(h), int(w), batch, block) as shape, str(lhs)),
            ("TENSOR", other, str(rhs)),
            *steps,
        ) if other == shape and len(steps) < 2:
            if (batch, block) != (env.BATCH, env.BLOCK_OUT):
                raise TuningError(
                    f"{name}: the tensors have blocks {(batch, block)} (batch, block_out), and the environment "
                    f"{(env.BATCH, env.BLOCK_OUT)}; make the task inside `with env:` of the configuration that it is "
                    "for"
                )
            plain = (n * env.BATCH, c * env.BLOCK_OUT, h, w)
            return Binary(_BINARY[name], plain, steps_of(steps[0]) if steps else (), (lhs, rhs))
        case _:
            raise TuningError(f"{name} takes two packed tensors of one shape, and steps, not {short(arguments)}")


def _add(arguments: Arguments, env: Environment) -> Binary:
    return _binary("add.vta", arguments, env)


def _multiply(arguments: Arguments, env: Environment) -> Binary:
    return _binary("multiply.vta", arguments, env)


def _require_blocks(name: str, found: tuple[object, ...], env: Environment) -> None:
    wanted = (env.BATCH, env.BLOCK_IN, env.BLOCK_OUT, env.BLOCK_IN)
    if found != wanted:
        raise TuningError(
            f"{name}: the tensors have blocks {found} (batch, block_in, block_out, block_in), and the environment "
            f"{wanted}; make the task inside `with env:` of the configuration that it is for"
        )


def _template(name: str, operator: Callable[[Arguments, Environment], Operator]) -> Template:
    return Template(
        name,
        lambda space, arguments, env: define(space, operator(arguments, env), env),
        lambda config, arguments, env: make(config, operator(arguments, env), env),
        operator,
    )


TEMPLATES: Mapping[str, Template] = {
    _CONV: _template(_CONV, _convolution),
    _DENSE: _template(_DENSE, _dense),
    _GROUPS: _template(_GROUPS, _grouped),
    _TRANSPOSED: _template(_TRANSPOSED, _transposed),
    "add.vta": _template("add.vta", _add),
    "multiply.vta": _template("multiply.vta", _multiply),
}
"""Name -> template."""
