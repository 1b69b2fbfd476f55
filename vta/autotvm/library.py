"""The library's own templates: its convolutions and dense layers, under TVM-VTA's names for them.

A task's arguments are those of TVM's records, and the epilogue behind them (left out: ``>> 8`` and a clip to 0..127, as
in TVM-VTA's tuning). The knobs are the choices of the library's schedules. Records of TVM-VTA, which have virtual
threads instead of copies in turn, are applied as they are. Tests: tests/vta/autotvm/test_library.py.
"""

from collections.abc import Mapping
from dataclasses import replace

from isa.printable import short
from vta.autotvm.errors import TuningError
from vta.autotvm.made import Arguments, Made, Template
from vta.autotvm.space import ConfigEntity, ConfigSpace
from vta.autotvm.space.config_space import value_of
from vta.autotvm.space.entities import Option
from vta.autotvm.workload import Value, steps_of, written_steps
from vta.environment import Environment
from vta.topi.conv.conv2d_operator import Conv2d
from vta.topi.conv.conv2d_tiles import ConvTiles
from vta.topi.conv.conv2d_tiling import ConvShape, conv_allows, longest_run
from vta.topi.core.epilogue import Bias, Clip, Epilogue, ShiftRight
from vta.topi.core.layout import blocks
from vta.topi.core.operator import Operator
from vta.topi.core.resident import Resident
from vta.topi.matmul.batch_matmul import Matmul
from vta.topi.matmul.dense import Dense, DenseTemplate
from vta.topi.matmul.matmul_schedule import MatmulTiles
from vta.topi.tiling import divisors, even_parts

__all__ = ["TEMPLATES", "tiles_of", "workload_of"]

_CONV, _DENSE = "conv2d_packed.vta", "dense_packed.vta"
_USUAL: Epilogue = (ShiftRight(8), Clip(0, 127))
_RESIDENTS = tuple(resident.value for resident in Resident)


def workload_of(operator: Operator, env: Environment) -> tuple[Value, ...] | None:
    """Return the template and the arguments that stand for ``operator`` on ``env``; None if no template does."""
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


def tiles_of(operator: Operator, config: ConfigEntity, env: Environment) -> object:
    """Return the tiles that ``config`` means for an operator that has a workload."""
    match operator:
        case Conv2d():
            return _conv_tiles(operator.shape_on(env), config)
        case Matmul() | Dense():
            return _dense_tiles(config)
        case _:
            raise TuningError(f"there is no template for {type(operator).__name__}")


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


def _define_conv(space: ConfigSpace, arguments: Arguments, env: Environment) -> None:
    layer = _convolution(arguments, env)
    shape = layer.shape_on(env)
    rows, columns = shape.output
    space.add_flop(layer.flops)
    _sides(space, {"tile_h": rows, "tile_w": columns})
    space.define_split("tile_ci", shape.channels.count)
    space.define_split("tile_co", shape.blocks_out)
    space.define_knob("tile_kh", [0, *divisors(layer.kernel[0])[:-1]])
    _copies(space, (1, 2, 3, 4, 5, 7))
    space.multi_filter(lambda config: conv_allows(shape, _conv_tiles(shape, config)))


def _conv_tiles(shape: ConvShape, config: ConfigEntity) -> ConvTiles:
    def number(name: str, without: int) -> int:
        return _number(value_of(config, name), name) if name in config else without

    template = ConvTiles(  # TVM-VTA's knobs, and its order of the loops
        tile_h=number("tile_h", 1),
        tile_w=number("tile_w", 1),
        tile_ci=number("tile_ci", 1),
        tile_co=number("tile_co", 1),
        oc_nthread=number("oc_nthread", 1),
        h_nthread=number("h_nthread", 1),
        tile_kh=number("tile_kh", 0),
    )
    if "rotate_tiles" not in config:
        return template
    run = longest_run(shape, template.tile_w, template.tile_kh or shape.window.kernel[0])
    return replace(
        template,
        run=run,
        rotate_tiles=number("rotate_tiles", 1),
        rotate_steps=number("rotate_steps", 1),
        resident=_resident(config),
    )


def _make_conv(config: ConfigEntity, arguments: Arguments, env: Environment) -> Made:
    layer = _convolution(arguments, env)
    scheduled = layer.schedule(env, _conv_tiles(layer.shape_on(env), config))
    return scheduled.schedule, scheduled.args


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


def _define_dense(space: ConfigSpace, arguments: Arguments, env: Environment) -> None:
    layer = _dense(arguments, env)
    problem = layer.problem(env)
    space.add_flop(layer.flops)
    _sides(space, {"tile_b": problem.rows})
    space.define_split("tile_ci", problem.inner)
    _sides(space, {"tile_co": problem.columns})
    _copies(space, (1, 2, 3, 4))

    def fits(config: ConfigEntity) -> bool:
        tiles = _dense_tiles(config)
        return isinstance(tiles, MatmulTiles) and problem.allows(tiles)

    space.multi_filter(fits)


def _dense_tiles(config: ConfigEntity) -> MatmulTiles | DenseTemplate:
    names = ("tile_b", "tile_ci", "tile_co")
    rows, inner, columns = (_number(value_of(config, name), name) for name in names)
    if "rotate_tiles" not in config:
        threads = _number(value_of(config, "oc_nthread"), "oc_nthread") if "oc_nthread" in config else 1
        return DenseTemplate(rows, inner, columns, threads)
    tiles, steps = (_number(value_of(config, name), name) for name in ("rotate_tiles", "rotate_steps"))
    return MatmulTiles(rows, inner, columns, tiles, steps, _resident(config))


def _make_dense(config: ConfigEntity, arguments: Arguments, env: Environment) -> Made:
    scheduled = _dense(arguments, env).schedule(env, _dense_tiles(config))
    return scheduled.schedule, scheduled.args


# --- what both have


def _sides(space: ConfigSpace, extents: Mapping[str, int]) -> None:
    """Define tiles that need not divide: every size that cuts an extent into equal parts, small ones first."""
    for name, extent in extents.items():
        space.define_split(name, extent, "candidate", candidate=[(-1, part) for part in reversed(even_parts(extent))])


def _copies(space: ConfigSpace, choices: tuple[int, ...]) -> None:
    space.define_knob("rotate_tiles", choices)
    space.define_knob("rotate_steps", choices)
    space.define_knob("resident", _RESIDENTS)


def _resident(config: ConfigEntity) -> Resident:
    value = value_of(config, "resident")
    if value not in _RESIDENTS:
        raise TuningError(f"knob 'resident' is one of {', '.join(_RESIDENTS)}, not {short(value)}")
    return Resident(value)


def _number(value: Option, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TuningError(f"knob {name!r} is a whole number, not {short(value)}")
    return value


def _require_blocks(name: str, found: tuple[object, ...], env: Environment) -> None:
    wanted = (env.BATCH, env.BLOCK_IN, env.BLOCK_OUT, env.BLOCK_IN)
    if found != wanted:
        raise TuningError(
            f"{name}: the tensors have blocks {found} (batch, block_in, block_out, block_in), and the environment "
            f"{wanted}; make the task inside `with env:` of the configuration that it is for"
        )


TEMPLATES: Mapping[str, Template] = {
    _CONV: Template(_CONV, _define_conv, _make_conv, _convolution),
    _DENSE: Template(_DENSE, _define_dense, _make_dense, _dense),
}
"""Name -> template."""
