"""``tvm.topi``: the accelerator's operators and the CPU's, under one tree of names.

Where both have a name, it is the accelerator's, which runs on the CPU too; pools and convolutions choose by the image.
Tests: tests/vta/compat/test_topi_names.py.
"""

from collections.abc import Callable
from functools import wraps
from types import ModuleType

from isa.errors import VTAError
from vta import te, topi
from vta.compat.answer import Tree
from vta.compat.constant_sizes import number, numbers
from vta.compat.small_names import traverse_inline
from vta.topi import cpu, testing

__all__ = ["LayoutError", "topi_names"]


class LayoutError(VTAError, ValueError):
    """A layout of images that no operator here takes."""


_BROADCASTS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "div": "divide", "mod": "mod", "maximum": "maximum",
    "minimum": "minimum", "power": "power",
}  # fmt: skip
"""Older names of operators on two tensors."""

_SCHEDULES = tuple(
    f"schedule_{layer}"
    for layer in (
        "adaptive_pool", "argsort", "batch_matmul", "binarize_pack", "binary_dense", "conv1d_ncw", "conv1d_nwc",
        "conv1d_transpose_ncw", "conv2d_hwcn", "conv2d_nchw", "conv2d_NCHWc", "conv2d_nhwc", "conv2d_transpose_nchw",
        "conv3d_ncdhw", "conv3d_ndhwc", "dense", "depthwise_conv2d_nchw", "depthwise_conv2d_nhwc", "group_conv2d_nchw",
        "lrn", "pool", "scatter", "softmax", "sort", "topk",
    )
)  # fmt: skip
"""Names of schedules for one kind of layer: all of them but that of softmax are the default one here."""

_SEQUENCES = ("reverse_sequence", "sequence_mask")
"""What stands with layers here, and with the functions on tensors in TVM."""

_PLAIN_RANK = 4
"""Dimensions of an image that is not packed for the accelerator."""


def topi_names() -> Tree:
    """Return the tree of names below ``tvm.topi``."""
    flat = {
        **_names(cpu.elementwise), **_names(cpu.pairs), **_names(cpu.reductions), **_names(cpu.rearrange),
        **_names(cpu.ordering), **_names(cpu.scatters), **_names(cpu.matrices), **_named(cpu.spatial, _SEQUENCES),
        **_named(cpu.norms, ("nll_loss",)), "prelu": cpu.nn.prelu, "matmul": cpu.nn.matmul,
        "fast_exp": cpu.elementwise.exp, "fast_tanh": cpu.elementwise.tanh, "fast_erf": cpu.elementwise.erf,
    }  # fmt: skip
    layers = {
        **_names(cpu.nn), **_names(cpu.convolution), **_names(cpu.convolutions), **_names(cpu.pooling),
        **_names(cpu.norms), **_names(cpu.spatial), "adaptive_pool": cpu.resize.adaptive_pool,
        "fast_softmax": cpu.nn.softmax, "utils": {"get_pad_tuple": _pad_tuple}, "util": {"get_pad_tuple": _pad_tuple},
    }  # fmt: skip
    generic = {**dict.fromkeys(_SCHEDULES, cpu.schedules.schedule_extern), **_names(cpu.schedules)}
    generic["schedule_softmax"] = cpu.row_schedules.schedule_softmax
    intrinsics = {"dot_16x1x16_uint8_int8_int32": cpu.byte_products.dot_16x1x16_uint8_int8_int32}
    pools = {"pool2d": _pool2d, "global_pool": _global_pool}
    return {
        **flat,
        **{f"broadcast_{old}": flat[new] for old, new in _BROADCASTS.items()},
        **_names(topi),
        **{name: _of_numbers_too(name) for name in cpu.pairs.__all__ if name in topi.__all__},
        "nn": {**layers, **_names(topi.nn), **pools, "conv2d": _conv2d, "pooling": pools},
        "image": {"resize2d": cpu.resize.resize2d},
        "generic": generic,
        "x86": {**generic, "tensor_intrin": intrinsics},
        "cpp": {"generic": generic},
        "tag": {
            "ELEMWISE": "elemwise",
            "BROADCAST": "broadcast",
            "INJECTIVE": "injective",
            "COMM_REDUCE": "comm_reduce",
        },
        "utils": {"get_const_tuple": numbers, "get_const_int": number, "traverse_inline": traverse_inline},
        "testing": {**_names(testing), **_schedules()},
    }


def _named(module: ModuleType, names: tuple[str, ...]) -> dict[str, object]:
    return {name: getattr(module, name) for name in names}


def _pad_tuple(padding: int | str | tuple[int, ...], kernel: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return the pads (top, left, bottom, right) of windows of ``kernel`` rows and columns."""
    return cpu.convolution.pads_of(padding, kernel, "topi.nn.utils.get_pad_tuple")


def _schedules() -> dict[str, object]:
    """Return the functions of TVM's tests that give the schedule of a kind for a target: here, one serves all."""
    schedules = cpu.schedules
    kinds = {"injective": schedules.schedule_injective, "reduce": schedules.schedule_reduce}
    kinds |= {"broadcast": schedules.schedule_injective, "elemwise": schedules.schedule_injective}
    return {f"get_{kind}_schedule": _for_any_target(schedule) for kind, schedule in kinds.items()}


def _for_any_target(schedule: object) -> Callable[[object], object]:
    return lambda target: schedule  # noqa: ARG005  # TVM's signature


def _names(module: ModuleType) -> dict[str, object]:
    values = {name: getattr(module, name) for name in module.__all__}
    return {name: value for name, value in values.items() if not isinstance(value, ModuleType)}


def _of_numbers_too(name: str) -> Callable[..., object]:
    """Return the accelerator's function of two tensors; of two numbers it is what the CPU's gives: a number."""
    accelerators, cpus = getattr(topi, name), getattr(cpu.pairs, name)

    @wraps(accelerators)
    def apply(lhs: object, rhs: object, *args: object, **options: object) -> object:
        of_tensors = isinstance(lhs, te.Tensor) or isinstance(rhs, te.Tensor)
        return (accelerators if of_tensors else cpus)(lhs, rhs, *args, **options)

    return apply


def _pool2d(data: te.Tensor, *args: object, **options: object) -> te.Tensor:
    """Return a pool of a plain image, or of one that is packed for the accelerator."""
    pool = cpu.pooling.pool2d if data.ndim == _PLAIN_RANK else topi.nn.pool2d
    return pool(data, *args, **options)  # type: ignore[arg-type]  # they check their arguments


_CONVOLUTIONS = {
    "NCHW": cpu.convolution.conv2d_nchw,
    "NHWC": cpu.convolution.conv2d_nhwc,
    "HWCN": cpu.convolutions.conv2d_hwcn,
}


def _conv2d(data: te.Tensor, kernel: te.Tensor, *args: object, **options: object) -> te.Tensor:
    """Return a convolution of plain images, by their layout, or of packed ones."""
    if data.ndim != _PLAIN_RANK:
        return topi.nn.conv2d(data, kernel, *args, **options)  # type: ignore[arg-type]  # it checks its arguments
    layout = options.pop("data_layout", options.pop("layout", "NCHW"))
    if len(args) > _SHAPE_ARGUMENTS and isinstance(args[_SHAPE_ARGUMENTS], str):
        layout, args = args[_SHAPE_ARGUMENTS], (*args[:_SHAPE_ARGUMENTS], *args[_SHAPE_ARGUMENTS + 1 :])
    if layout not in _CONVOLUTIONS:
        raise LayoutError(f"topi.nn.conv2d: plain images are {', '.join(_CONVOLUTIONS)}, not {layout!r}")
    return _CONVOLUTIONS[layout](data, kernel, *args, **options)  # type: ignore[arg-type]


_SHAPE_ARGUMENTS = 3
"""Strides, padding and dilation; a layout follows."""


def _global_pool(data: te.Tensor, *args: object, **options: object) -> te.Tensor:
    """Return a pool of whole plain images, or of packed ones."""
    pool = cpu.pooling.global_pool if data.ndim == _PLAIN_RANK else topi.nn.global_pool
    return pool(data, *args, **options)  # type: ignore[arg-type]  # they check their arguments
