"""Iterator maps: indices as digits of iterators, for programs that split, fuse and reorder loops.

An index is a sum of splits, each a digit ``(source // lower_factor) % extent * scale`` of a mark: an iterator, or a sum
that was fused. ``detect`` finds such forms and says whether indices are independent of each other; ``subspace`` divides
them into what an inner nest of loops walks over and the rest; ``inverse`` computes iterators of indices.
"""

from vta.arith.iter_map.detect import detect_iter_map, iter_map_simplify
from vta.arith.iter_map.inverse import inverse_affine_iter_map
from vta.arith.iter_map.nodes import (
    IterMapError,
    IterMapExpr,
    IterMapLevel,
    IterMapResult,
    IterMark,
    IterSplitExpr,
    IterSumExpr,
)
from vta.arith.iter_map.subspace import subspace_divide
from vta.arith.iter_map.to_expr import normalize_iter_map_to_expr

__all__ = [
    "IterMapError", "IterMapExpr", "IterMapLevel", "IterMapResult", "IterMark", "IterSplitExpr", "IterSumExpr",
    "detect_iter_map", "inverse_affine_iter_map", "iter_map_simplify", "normalize_iter_map_to_expr", "subspace_divide",
]  # fmt: skip
