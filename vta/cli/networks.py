"""Networks on the command line: files of them, sizes and inputs that options give, progress.

Tests: tests/vta/cli/test_network_commands.py.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import numpy.typing as npt
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from isa.config import VTAConfig
from isa.files.array_file import read_arrays
from isa.limits import DEFAULT_LIMITS, Limits
from isa.printable import in_one_line
from runtime.devices.device import HardwareSetup
from runtime.executor.container import is_container
from runtime.executor.network import DeviceStep, Network, Tensor
from runtime.session import Session
from vta.cli.reporting import UserError
from vta.cli.style import Screen, say

if TYPE_CHECKING:
    from vta.quantize.data import Preprocessing
    from vta.relay.backend.session import InferenceSession

__all__ = ["InputOption", "ShapeOption", "feed_of", "is_network", "loaded_session", "note_of_the_host", "shapes_of"]

Array = npt.NDArray[np.generic]

ShapeOption = Annotated[
    list[str] | None,
    typer.Option("--shape", metavar="NAME=SIZES", help="Sizes that a model leaves open: n=1 or image=1x3x224x224."),
]
InputOption = Annotated[
    list[str] | None,
    typer.Option("--input", metavar="[NAME=]FILE", help="A network's input: .npy, .npz (by name) or a picture."),
]


def is_network(file: Path) -> bool:
    """Return whether a file is an ONNX model, by its name, or a compiled network, by its first bytes."""
    if file.suffix == ".onnx":
        return True
    try:
        with open(file, "rb") as opened:
            return is_container(opened.read(8))
    except OSError:
        return False


def shapes_of(options: Sequence[str] | None) -> dict[str, int | tuple[int, ...]]:
    """Return what ``--shape`` options say."""
    found: dict[str, int | tuple[int, ...]] = {}
    for option in options or ():
        name, _, text = option.partition("=")
        sizes = text.lower().split("x")
        if not name or not all(size.isascii() and size.isdigit() and len(size) < 10 for size in sizes):
            raise typer.BadParameter(f"--shape takes NAME=SIZES, as n=1 or image=1x3x224x224, not {option!r}")
        numbers = tuple(map(int, sizes))
        found[name] = numbers if len(numbers) > 1 else numbers[0]
    return found


def loaded_session(
    file: Path,
    config: VTAConfig,
    target: str | Session | None,
    shapes: Mapping[str, int | tuple[int, ...]],
    hardware: HardwareSetup | None = None,
    *,
    limits: Limits = DEFAULT_LIMITS,
) -> "InferenceSession":
    """Return a session for a network's file; a model is compiled first, with progress on a terminal."""
    from vta.environment import Environment
    from vta.relay.backend.session import InferenceSession  # and with it ONNX, which takes long to load

    environment = Environment(config, hardware=hardware)
    with _progress(f"compiling {in_one_line(file.name)}") as told:
        return InferenceSession(file, shapes or None, env=environment, target=target, progress=told, limits=limits)


def note_of_the_host(file: Path, network: Network) -> None:
    """Say on stderr that the accelerator does nothing of a network, if that is so, and what to do."""
    if any(isinstance(step, DeviceStep) for step in network.steps):
        return
    if file.suffix == ".onnx":
        hint = (
            f"`vta explain {file}` says why; a float model runs there once `vta quantize {file} --data PATH` "
            "made it int8"
        )
    else:
        hint = "`vta explain` of its ONNX model says why"
    say(
        f"note: {in_one_line(str(file))}: the accelerator does nothing of this network, the host computes it; {hint}",
        err=True,
    )


@contextmanager
def _progress(text: str) -> Iterator[Callable[[str, int, int], object] | None]:
    """Show how many layers are done, on stderr and on a terminal alone."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Screen(err=True), transient=True) as shown:
        task = shown.add_task(text, total=None)
        yield lambda _, done, total: shown.update(task, completed=done, total=total)


def feed_of(
    inputs: Sequence[Tensor],
    options: Sequence[str] | None,
    *,
    limits: Limits = DEFAULT_LIMITS,
    preprocessing: "Preprocessing | None" = None,
) -> dict[str, Array]:
    """Return what a network gets: what ``--input`` options name, random numbers of a seed for none at all.

    ``preprocessing`` is done to pictures.
    """
    tensors = {tensor.name: tensor for tensor in inputs}
    if not options:
        return {name: _random(tensor) for name, tensor in tensors.items()}
    feed: dict[str, Array] = {}
    for option in options:
        name, separator, path = option.partition("=")
        if not separator:
            name, path = "", option
        feed |= _read(Path(path), name, tensors, limits, preprocessing)
    missing = [name for name in tensors if name not in feed]
    if missing:
        raise UserError(f"input {missing[0]!r} is missing; name a file with it, as --input {missing[0]}=FILE")
    return feed


def _random(tensor: Tensor) -> Array:
    rng = np.random.default_rng(0)
    if np.dtype(tensor.dtype).kind == "f":
        return rng.standard_normal(tensor.shape).astype(tensor.dtype)
    limits = np.iinfo(tensor.dtype)
    return rng.integers(limits.min, limits.max, tensor.shape, endpoint=True).astype(tensor.dtype)


def _read(
    path: Path, name: str, tensors: Mapping[str, Tensor], limits: Limits, preprocessing: "Preprocessing | None"
) -> dict[str, Array]:
    """Return the inputs that a file holds."""
    if name and name not in tensors:
        raise UserError(f"the network has inputs {', '.join(tensors)}, not {name!r}")
    if path.suffix == ".npz":
        arrays = read_arrays(path, limits=limits)
        if "" in arrays:
            raise UserError(f"{path}: it holds one array without a name; call it .npy")
        unknown = [key for key in arrays if key not in tensors]
        if unknown and not name:
            raise UserError(f"{path}: it has {unknown[0]!r}, and the network's inputs are {', '.join(tensors)}")
        return {name: arrays[name]} if name in arrays else arrays
    if not name and len(tensors) > 1:
        raise UserError(f"{path}: the network has inputs {', '.join(tensors)}; say which, as --input NAME={path}")
    key = name or next(iter(tensors))
    if path.suffix == ".npy":
        arrays = read_arrays(path, limits=limits)
        if "" not in arrays:
            raise UserError(f"{path}: it holds several arrays, with names; call it .npz")
        return {key: arrays[""]}
    return {key: _picture(path, tensors[key], preprocessing)}


def _picture(path: Path, tensor: Tensor, preprocessing: "Preprocessing | None") -> Array:
    """Return a picture at the size of an input, its numbers from 0 to 1 where the input is real."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise UserError(
            f"{path}: pictures need Pillow: pip install 'vta-toolchain[pictures]'; or give an .npy"
        ) from None
    if len(tensor.shape) != 4 or tensor.shape[1] not in (1, 3):
        raise UserError(f"{path}: input {tensor.name!r} has shape {tensor.shape}, which is no picture's; give an .npy")
    if preprocessing is not None:
        return _prepared(path, tensor, preprocessing)
    _, channels, height, width = tensor.shape
    try:
        with Image.open(path) as opened:
            image = opened.convert("L" if channels == 1 else "RGB").resize((width, height))
    except (OSError, UnidentifiedImageError, Image.DecompressionBombError) as error:
        reason = (
            error.strerror if isinstance(error, OSError) and error.strerror else "it is of no known kind, or damaged"
        )
        raise UserError(f"{path}: no picture that can be read: {reason}") from None
    pixels = np.asarray(image).reshape(height, width, channels).transpose(2, 0, 1)[None]
    if np.dtype(tensor.dtype).kind == "f":
        return (pixels / 255).astype(tensor.dtype)
    return (
        pixels.astype(tensor.dtype) if tensor.dtype == "uint8" else (pixels.astype(np.int16) - 128).astype(tensor.dtype)
    )


def _prepared(path: Path, tensor: Tensor, preprocessing: "Preprocessing") -> Array:
    """Return a picture as calibration took it: the network expects the same numbers when it runs."""
    from vta.quantize.calibrate.samples import InputType
    from vta.quantize.data.pictures import prepared_picture

    dtype = np.dtype(tensor.dtype)
    if dtype.kind != "f":
        raise UserError(
            f"{path}: --mean, --std, --crop and --bgr make real numbers of pictures, and input {tensor.name!r} is "
            f"{tensor.dtype}; leave them out, or give an .npy"
        )
    return prepared_picture(path, InputType(tensor.name, tensor.shape, dtype), preprocessing)[None].astype(dtype)
