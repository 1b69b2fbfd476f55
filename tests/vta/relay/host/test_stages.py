"""The arguments of a recipe's function, and where averages get their numbers of elements from."""

import numpy as np

from runtime.executor.operators.attributes import NO_ATTRS
from runtime.executor.operators.names import Op
from runtime.executor.operators.pooling import AvgPool2dAttrs
from vta.relay.host.recipe import Leaf, Node, Recipe
from vta.relay.host.stages import staged
from vta.topi.core.sizes import sizes


def test_axes_that_are_one_are_merged_in_the_arguments() -> None:
    leaves = (Leaf((2, 3, 4, 5), "float32"), Leaf((1, 3, 1, 1), "float32"))
    made = staged(Recipe(leaves, (Node(Op.ADD, NO_ATTRS, (-1, -2), "float32"),), (2, 3, 4, 5)))
    assert [sizes(tensor) for tensor in made.args] == [(2, 3, 20), (1, 3, 1), (2, 3, 20)]
    assert made.extra == ()


def test_averages_divide_by_the_elements_of_each_window() -> None:
    attrs = AvgPool2dAttrs((2, 2), (2, 2), (1, 1, 0, 0))
    node = Node(Op.AVG_POOL2D, attrs, (-1,), "float32")
    made = staged(Recipe((Leaf((1, 2, 3, 3), "float32"),), (node,), (1, 2, 2, 2), is_head=True))
    [counts] = made.extra
    np.testing.assert_array_equal(counts, np.array([[1, 2], [2, 4]], np.float32))
    assert [sizes(tensor) for tensor in made.args] == [(1, 2, 3, 3), (2, 2), (1, 2, 2, 2)]
