"""Compute convolutions and pools in another layout, and convert as little as possible.

Before::

    %0 = nn.conv2d(%x, const<float32[8, 4, 3, 3]>(#0));
    %1 = nn.relu(%0);
    %2 = nn.conv2d(%1, const<float32[8, 8, 3, 3]>(#1));

After ``convert_layout(function, Layouts("NHWC", "HWIO"))``::

    %0 = layout_transform(%x, src_layout="NCHW", dst_layout="NHWC");
    %1 = nn.conv2d(%0, const<float32[3, 3, 4, 8]>(#0), data_layout="NHWC", kernel_layout="HWIO");
    %2 = nn.relu(%1);
    %3 = nn.conv2d(%2, const<float32[3, 3, 8, 8]>(#1), data_layout="NHWC", kernel_layout="HWIO");
    %4 = layout_transform(%3, src_layout="NHWC", dst_layout="NCHW");

Element-wise operators, joins and sums of images follow the layout of what they read; all others get NCHW. A layer whose
channels are no multiple of a blocked layout's blocks stays as it is.
Tests: tests/vta/relay/transform/test_convert_layout.py.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from runtime.executor.operators.attributes import Attrs
from runtime.executor.operators.convolution import Conv2dAttrs
from runtime.executor.operators.layouts import Layout, LayoutAttrs, convert, converted_shape
from runtime.executor.operators.names import Op
from runtime.executor.operators.operator import Pattern
from runtime.executor.operators.pooling import GlobalPoolAttrs, Pool2dAttrs
from runtime.executor.operators.selection import ConcatenateAttrs
from runtime.executor.operators.table import operator
from runtime.executor.operators.types import RelayError, TensorType
from vta.relay.ir.nodes import Call, Constant, Expr, Function, TupleGetItem, tensor_type
from vta.relay.ir.traverse import children, post_order
from vta.relay.ops.call import call
from vta.relay.ops.rewrite import with_body, with_children
from vta.relay.transform.inline_lets import inline_lets

__all__ = ["Layouts", "convert_layout"]

_PLAIN = "NCHW"


@dataclass(frozen=True, slots=True)
class Layouts:
    """The layouts to compute in: of images, and of the weights of convolutions."""

    data: str
    kernel: str


def convert_layout(function: Function, layouts: Layouts, wanted: Callable[[Call], bool] = lambda _: True) -> Function:
    """Return ``function`` with convolutions and pools in ``layouts``; those that ``wanted`` refuses stay NCHW."""
    Layout.of(layouts.data), Layout.of(layouts.kernel)
    plain = inline_lets(function)
    body = _Converter(layouts, wanted).converted(plain.body)
    return with_body(plain, body)


@dataclass(frozen=True, slots=True)
class _Value:
    """A new node, and the layout that it has."""

    expr: Expr
    layout: str = _PLAIN


class _Converter:
    """Rewrites from the leaves up; ``_values`` has every node as it is now, and in which layout."""

    def __init__(self, layouts: Layouts, wanted: Callable[[Call], bool]) -> None:
        self._layouts = layouts
        self._wanted = wanted
        self._values: dict[Expr, _Value] = {}
        self._plain: dict[Expr, Expr] = {}
        self._moved: dict[Expr, Expr] = {}

    def converted(self, root: Expr) -> Expr:
        """Return ``root`` rewritten, in NCHW."""
        for expr in post_order(root):
            self._values[expr] = self._rewritten(expr)
        return self._in_plain(root)

    def _in_plain(self, expr: Expr) -> Expr:
        """Return a node as NCHW; converted once, however many need it."""
        value = self._values[expr]
        if value.layout == _PLAIN:
            return value.expr
        if expr not in self._plain:
            self._plain[expr] = _transformed(value.expr, value.layout, _PLAIN)
        return self._plain[expr]

    def _in_layout(self, expr: Expr) -> Expr:
        """Return a node in the layout that is wanted; converted once, however many need it."""
        value = self._values[expr]
        if value.layout == self._layouts.data:
            return value.expr
        if expr not in self._moved:
            self._moved[expr] = _transformed(value.expr, _PLAIN, self._layouts.data)
        return self._moved[expr]

    def _rewritten(self, expr: Expr) -> _Value:
        if isinstance(expr, Call) and isinstance(expr.callee, Op):
            if _is_layer(expr) and self._wanted(expr) and self._fits(expr):
                return self._layer(expr)
            if self._follows(expr):
                return self._followed(expr)
        if isinstance(expr, Constant) or not children(expr):
            return _Value(expr)
        if isinstance(expr, TupleGetItem):
            return _Value(with_children(expr, (self._in_plain(expr.value),)))
        return _Value(with_children(expr, tuple([self._in_plain(child) for child in children(expr)])))

    # --- layers ------------------------------------------------------------------------------------------------------

    def _fits(self, layer: Call) -> bool:
        """Whether data, result and weight can have the layouts."""
        try:
            for each in (layer.args[0], layer):
                converted_shape(tensor_type(each).shape, _PLAIN, self._layouts.data)
            if isinstance(layer.attrs, Conv2dAttrs):
                shape = tensor_type(layer.args[1]).shape
                converted_shape(shape, layer.attrs.kernel_layout, self._layouts.kernel)
        except RelayError:
            return False
        return True

    def _layer(self, layer: Call) -> _Value:
        data = self._in_layout(layer.args[0])
        if isinstance(layer.attrs, Conv2dAttrs):
            weight = _transformed(self._in_plain(layer.args[1]), layer.attrs.kernel_layout, self._layouts.kernel)
            attrs: Attrs = replace(layer.attrs, data_layout=self._layouts.data, kernel_layout=self._layouts.kernel)
            return _Value(_like(layer, [data, weight], attrs), self._layouts.data)
        assert isinstance(layer.attrs, Pool2dAttrs | GlobalPoolAttrs)
        attrs = replace(layer.attrs, layout=self._layouts.data)
        return _Value(_like(layer, [data], attrs), self._layouts.data)

    # --- what follows ------------------------------------------------------------------------------------------------

    def _follows(self, expr: Call) -> bool:
        """Whether ``expr`` can be computed in another layout, and reads something that has it."""
        images = [arg for arg in expr.args if self._values[arg].layout != _PLAIN]
        if not images or not isinstance(expr.type, TensorType):
            return False
        if isinstance(expr.attrs, ConcatenateAttrs):
            is_along_channels = expr.attrs.axis % expr.type.rank == 1
            return is_along_channels and all(self._can_move(arg) for arg in expr.args)
        assert isinstance(expr.callee, Op)
        is_by_element = operator(expr.callee).pattern <= Pattern.BROADCAST and not hasattr(expr.attrs, "axis")
        return is_by_element and all(self._can_move(arg) or _is_scalar(arg) for arg in expr.args)

    def _can_move(self, expr: Expr) -> bool:
        """Whether an operand has the layout, or can get it: an image, or a constant that broadcasts to one."""
        if self._values[expr].layout != _PLAIN:
            return True
        shape = tensor_type(expr).shape
        if isinstance(expr, Constant):
            return len(shape) <= 4 and _moved_constant(expr, self._layouts.data) is not None
        if len(shape) != 4:
            return False
        try:
            converted_shape(shape, _PLAIN, self._layouts.data)
        except RelayError:
            return False
        return True

    def _followed(self, expr: Call) -> _Value:
        args = [self._operand(arg) for arg in expr.args]
        attrs = expr.attrs
        if isinstance(attrs, ConcatenateAttrs):
            attrs = ConcatenateAttrs(Layout.of(self._layouts.data).axis("C"))
        return _Value(_like(expr, args, attrs), self._layouts.data)

    def _operand(self, expr: Expr) -> Expr:
        if _is_scalar(expr):
            return self._values[expr].expr
        if isinstance(expr, Constant):
            moved = _moved_constant(expr, self._layouts.data)
            assert moved is not None
            return moved
        return self._in_layout(expr)


def _is_layer(expr: Call) -> bool:
    match expr.attrs:
        case Conv2dAttrs():
            return expr.attrs.data_layout == _PLAIN
        case Pool2dAttrs() | GlobalPoolAttrs():
            return expr.attrs.layout == _PLAIN
        case _:
            return False


def _is_scalar(expr: Expr) -> bool:
    return isinstance(expr.type, TensorType) and expr.type.rank == 0


def _like(old: Call, args: list[Expr], attrs: Attrs) -> Call:
    assert isinstance(old.callee, Op)
    return call(old.callee, args, attrs, old.origins)


def _transformed(expr: Expr, source: str, target: str) -> Expr:
    """Return ``expr`` in another layout: a constant at once."""
    if source == target:
        return expr
    if isinstance(expr, Constant):
        return Constant(convert(expr.value, source, target), expr.name)
    return call(Op.LAYOUT_TRANSFORM, [expr], LayoutAttrs(source, target))


def _moved_constant(expr: Constant, target: str) -> Constant | None:
    """Return a constant that broadcasts to images in layout ``target`` as ``expr`` does in NCHW, None if it cannot."""
    value = expr.value.reshape((1,) * (4 - expr.value.ndim) + expr.value.shape)
    layout = Layout.of(target)
    sizes = dict(zip(_PLAIN, value.shape, strict=True))
    if any(sizes[letter] > 1 and sizes[letter] % layout.block(letter) for letter in _PLAIN):
        return None
    whole = "".join(part for letter, size in layout.parts for part in _kept(letter, size, is_one=sizes[letter] == 1))
    moved = convert(value, _PLAIN, whole)
    return Constant(moved.reshape([_extent(letter, size, layout, sizes) for letter, size in layout.parts]), expr.name)


def _kept(letter: str, size: int, *, is_one: bool) -> list[str]:
    """Return an axis of a layout as text; the blocks of a letter of size 1 are left out."""
    if not size:
        return [letter]
    return [] if is_one else [f"{size}{letter.lower()}"]


def _extent(letter: str, size: int, layout: Layout, sizes: dict[str, int]) -> int:
    """Return the size of an axis of a moved constant."""
    if sizes[letter] == 1:
        return 1
    return size or sizes[letter] // layout.block(letter)
