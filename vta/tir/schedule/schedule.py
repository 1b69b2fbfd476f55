"""``tir.Schedule``: a function of blocks, and the primitives on it under TVM's names.

Every primitive is checked and done when it is called; after a refusal the function is what it was. Tests:
tests/vta/tir/schedule/test_schedule.py, test_random.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeAlias

from vta.tir.blocks import block_reads, block_writes
from vta.tir.expr import Expr, ExprLike, IntImm, IterVar, Node, Var
from vta.tir.func import IRModule, PrimFunc
from vta.tir.index_map import IndexMap
from vta.tir.schedule import annotating, caching, inlining, layouts, loops, moving, reductions, sampling
from vta.tir.schedule.blockize import blockized
from vta.tir.schedule.errors import BlockScheduleError
from vta.tir.schedule.flow import blocks_of, readers, writers
from vta.tir.schedule.tensorize import tensorized
from vta.tir.schedule.trace import BlockRV, Instruction, IntRV, LoopRV, RandomVariable, Trace
from vta.tir.schedule.tree import block_named, check_unique, enclosing_block, loop_of, loops_around, only_blocks_below
from vta.tir.stmt import Block, For, ForKind
from vta.tir.tensor_intrin import SeveralIntrinsics, TensorIntrin

__all__ = ["BlockRV", "LoopRV", "Schedule"]

_Named: TypeAlias = BlockRV | str


class Schedule:
    """A function of a module and what was done to it.

    ``mod`` is the program as it is now, ``trace`` the steps. Blocks are named by their names or by what ``get_block``
    gives; loops by what ``get_loops``, ``split`` and the others give.
    """

    def __init__(
        self,
        mod: PrimFunc | IRModule,
        *,
        func_name: str | None = None,
        seed: int | None = None,
        debug_mask: str | int = "all",  # noqa: ARG002  # TVM's: every step is checked
        error_render_level: str = "detail",  # noqa: ARG002  # TVM's: errors are sentences
    ) -> None:
        module = IRModule.from_expr(mod) if isinstance(mod, PrimFunc) else mod
        if not isinstance(module, IRModule):
            raise BlockScheduleError(f"Schedule takes a function or a module, not {type(mod).__name__}")
        name = func_name if func_name is not None else next(iter(module.functions), "")
        if func_name is None and len(module) > 1 and "main" in module:
            name = "main"
        self._module, self._name = module, name
        self._func = module[name]
        if not isinstance(self._func.body, Block):
            raise BlockScheduleError(
                f"function {name!r} has no blocks; make it with te.create_prim_func, or put its body into a tir.Block"
            )
        check_unique(self._func)
        self._random = Random(seed)
        self.trace = Trace()

    @property
    def mod(self) -> IRModule:
        """The module with the function as it is now."""
        return IRModule({**self._module.functions, self._name: self._func}, self._module.config)

    @property
    def func(self) -> PrimFunc:
        """The function as it is now."""
        return self._func

    def copy(self) -> Schedule:
        """Return an independent schedule of the function as it is now."""
        twin = Schedule(self.mod, func_name=self._name)
        twin.trace = Trace(list(self.trace.insts))
        twin.seed(self.fork_seed())
        return twin

    def show(self) -> None:
        """Print the function."""
        print(self._func, end="")

    def _note(
        self, kind: str, arguments: tuple[object, ...], outputs: Sequence[RandomVariable] = (), **options: object
    ) -> None:
        self.trace.insts.append(Instruction(kind, arguments, options, tuple(outputs)))

    def _block(self, block: _Named) -> Block:
        match block:
            case BlockRV():
                return block_named(self._func, block.name)
            case str():
                return block_named(self._func, block)
            case _:
                raise BlockScheduleError(f"expected a block, sch.get_block(...), or its name, not {block!r}")

    def _var(self, loop: LoopRV) -> Var:
        if not isinstance(loop, LoopRV):
            raise BlockScheduleError(f"expected a loop, for example one of sch.get_loops(block), not {loop!r}")
        return loop_of(self._func, loop.var).loop_var

    def _found(self, block_or_loop: _Named | LoopRV) -> Block | For:
        return self._node(BlockRV(block_or_loop) if isinstance(block_or_loop, str) else block_or_loop)

    # Finding things

    def get(self, rand_var: RandomVariable | Expr) -> Block | For | Expr:
        """Return the block or loop as it is now; the value of a number that was chosen, or is made of such."""
        if isinstance(rand_var, int):
            return IntImm(int(rand_var))
        if isinstance(rand_var, Node):
            return rand_var
        return self._node(rand_var)

    def _node(self, rand_var: BlockRV | LoopRV) -> Block | For:
        return self._block(rand_var) if isinstance(rand_var, BlockRV) else loop_of(self._func, self._var(rand_var))

    def get_block(self, name: str, func_name: str | None = None) -> BlockRV:
        """Return the block of that name."""
        if func_name not in (None, self._name):
            raise BlockScheduleError(f"get_block: the schedule is of function {self._name!r}, not of {func_name!r}")
        result = BlockRV(block_named(self._func, name).name)
        self._note("get_block", (name,), [result])
        return result

    def get_loops(self, block: _Named) -> list[LoopRV]:
        """Return the loops around a block, up to the next block, the outermost first."""
        result = [LoopRV(loop.loop_var) for loop in loops_around(self._func, self._block(block))]
        self._note("get_loops", (block,), result)
        return result

    def get_child_blocks(self, block_or_loop: _Named | LoopRV) -> list[BlockRV]:
        """Return the blocks in a loop or a block, without those in them."""
        found = self._found(block_or_loop)
        result = [BlockRV(inner.name) for inner in only_blocks_below(found.body)]
        self._note("get_child_blocks", (block_or_loop,), result)
        return result

    def get_producers(self, block: _Named) -> list[BlockRV]:
        """Return the blocks that make what a block reads."""
        reads = dict.fromkeys(load.buffer for load in block_reads(self._block(block)))
        scope = enclosing_block(self._func, self._block(block))
        result = list(dict.fromkeys(BlockRV(b.name) for buffer in reads for b in writers(scope, buffer)))
        self._note("get_producers", (block,), result)
        return result

    def get_consumers(self, block: _Named) -> list[BlockRV]:
        """Return the blocks that read what a block makes."""
        writes = dict.fromkeys(store.buffer for store in block_writes(self._block(block)))
        scope = enclosing_block(self._func, self._block(block))
        result = list(dict.fromkeys(BlockRV(b.name) for buffer in writes for b in readers(scope, buffer)))
        self._note("get_consumers", (block,), result)
        return result

    def get_output_blocks(self, block: _Named = "root") -> list[BlockRV]:
        """Return the blocks in a block that write arguments of the function."""
        arguments = set(self._func.buffer_map.values())
        found = blocks_of(self._block(block))
        result = [BlockRV(b.name) for b in found if any(write.buffer in arguments for write in block_writes(b))]
        self._note("get_output_blocks", (block,), result)
        return result

    # Loops

    def split(
        self,
        loop: LoopRV,
        factors: Sequence[int | None],
        preserve_unit_iters: bool = True,  # noqa: ARG002  # loops of one iteration always stay
    ) -> list[LoopRV]:
        """Split a loop into nested ones of ``factors`` iterations; one may be None, for as many as it takes."""
        plain = [None if factor is None else int(factor) for factor in factors]
        self._func, variables = loops.split(self._func, self._var(loop), plain)
        result = [LoopRV(var) for var in variables]
        noted = [factor if isinstance(factor, IntRV) else n for factor, n in zip(factors, plain, strict=True)]
        self._note("split", (loop, noted), result)
        return result

    def fuse(self, *fused: LoopRV, preserve_unit_iters: bool = True) -> LoopRV:  # noqa: ARG002
        """Make one loop of nested ones; how axes of blocks follow is simplified for loops of one iteration, too."""
        self._func, var = loops.fused(self._func, [self._var(loop) for loop in fused])
        result = LoopRV(var)
        self._note("fuse", fused, [result])
        return result

    def reorder(self, *ordered: LoopRV) -> None:
        """Put loops of one nest into this order."""
        self._func = loops.reordered(self._func, [self._var(loop) for loop in ordered])
        self._note("reorder", ordered)

    def parallel(self, loop: LoopRV) -> None:
        """Let the iterations of a loop run in any order, or at the same time."""
        self._func = loops.marked(self._func, self._var(loop), ForKind.PARALLEL, "parallel")
        self._note("parallel", (loop,))

    def vectorize(self, loop: LoopRV) -> None:
        """Run the iterations of a loop as one vector operation."""
        self._func = loops.marked(self._func, self._var(loop), ForKind.VECTORIZED, "vectorize")
        self._note("vectorize", (loop,))

    def unroll(self, loop: LoopRV) -> None:
        """Write the iterations of a loop out."""
        self._func = loops.marked(self._func, self._var(loop), ForKind.UNROLLED, "unroll")
        self._note("unroll", (loop,))

    def bind(self, loop: LoopRV, thread_axis: str | IterVar) -> None:
        """Bind a loop to a thread axis: "cthread", "vthread", "rotate"; a GPU's lowers, and no code is made of it."""
        self._func = annotating.bound(self._func, self._var(loop), thread_axis)
        self._note("bind", (loop, thread_axis if isinstance(thread_axis, str) else thread_axis.thread_tag))

    # Blocks of blocks, and intrinsics

    def blockize(self, loop: LoopRV) -> BlockRV:
        """Put a loop and what is in it into a new block, of which the loops outside are the axes; return that block."""
        self._func, name = blockized(self._func, self._var(loop))
        result = BlockRV(name)
        self._note("blockize", (loop,), [result])
        return result

    def tensorize(self, block_or_loop: _Named | LoopRV, tensor_intrin: str | TensorIntrin | SeveralIntrinsics) -> None:
        """Put an intrinsic in the place of a loop, or of what is in a block, that computes what it does."""
        if isinstance(block_or_loop, LoopRV):
            target: Var | str = self._var(block_or_loop)
        else:
            target = self._block(block_or_loop).name
        self._func = tensorized(self._func, target, tensor_intrin)
        self._note("tensorize", (block_or_loop, tensor_intrin))

    # What is said about blocks and loops

    def annotate(self, block_or_loop: _Named | LoopRV, ann_key: str, ann_val: object) -> None:
        """Say something about a block or loop: pragmas ("pragma_...") become attributes when it is lowered."""
        self._func = annotating.annotated(self._func, self._found(block_or_loop), ann_key, ann_val)
        self._note("annotate", (block_or_loop, ann_key, ann_val))

    def unannotate(self, block_or_loop: _Named | LoopRV, ann_key: str) -> None:
        """Take back what was said."""
        self._func = annotating.unannotated(self._func, self._found(block_or_loop), ann_key)
        self._note("unannotate", (block_or_loop, ann_key))

    def storage_align(self, block: _Named, buffer_index: int, axis: int, factor: int, offset: int = 0) -> None:
        """Give a dimension of a buffer that a block writes a stride of ``factor * k + offset``."""
        name = self._block(block).name
        self._func = annotating.aligned(self._func, name, index=buffer_index, axis=axis, factor=factor, offset=offset)
        self._note("storage_align", (block, buffer_index, axis, factor, offset))

    def add_unit_loop(self, block_or_loop: _Named | LoopRV) -> LoopRV:
        """Put a loop of one iteration around a block or loop."""
        self._func, var = loops.add_unit_loop(self._func, self._found(block_or_loop), "u")
        result = LoopRV(var)
        self._note("add_unit_loop", (block_or_loop,), [result])
        return result

    # Where blocks are computed

    def compute_at(
        self, block: _Named, loop: LoopRV, preserve_unit_loops: bool = False, index: int | None = None
    ) -> None:
        """Compute a block in a loop of those that read it: there, what one iteration needs."""
        self._func = moving.compute_at(
            self._func, self._block(block).name, self._var(loop), unit_loops=preserve_unit_loops, index=index
        )
        self._note("compute_at", (block, loop), (), **_moved(preserve_unit_loops, index))

    def reverse_compute_at(
        self, block: _Named, loop: LoopRV, preserve_unit_loops: bool = False, index: int | None = None
    ) -> None:
        """Compute a block in a loop of those that make what it reads: there, what one iteration gives."""
        self._func = moving.reverse_compute_at(
            self._func, self._block(block).name, self._var(loop), unit_loops=preserve_unit_loops, index=index
        )
        self._note("reverse_compute_at", (block, loop), (), **_moved(preserve_unit_loops, index))

    def compute_inline(self, block: _Named) -> None:
        """Put a block's expression wherever its output is read."""
        self._func = inlining.inlined(self._func, self._block(block).name)
        self._note("compute_inline", (block,))

    def reverse_compute_inline(self, block: _Named) -> None:
        """Let the only producer of what a block reads compute what the block makes of it."""
        self._func = inlining.reverse_inlined(self._func, self._block(block).name)
        self._note("reverse_compute_inline", (block,))

    def cache_read(self, block: _Named, read_buffer_index: int, storage_scope: str) -> BlockRV:
        """Let a block read a buffer through a copy; return the block that makes the copy."""
        name = self._block(block).name
        self._func, copy = caching.cache_read(self._func, name, read_buffer_index, storage_scope)
        result = BlockRV(copy)
        self._note("cache_read", (block, read_buffer_index, storage_scope), [result])
        return result

    def cache_write(self, block: _Named, write_buffer_index: int, storage_scope: str) -> BlockRV:
        """Let a block write a copy first; return the block that copies it to its place."""
        name = self._block(block).name
        self._func, copy = caching.cache_write(self._func, name, write_buffer_index, storage_scope)
        result = BlockRV(copy)
        self._note("cache_write", (block, write_buffer_index, storage_scope), [result])
        return result

    def set_scope(self, block: _Named, buffer_index: int, storage_scope: str) -> None:
        """Keep a buffer that a block writes in another memory."""
        self._func = caching.with_scope(self._func, self._block(block).name, buffer_index, storage_scope)
        self._note("set_scope", (block, buffer_index, storage_scope))

    def reindex(
        self,
        block: _Named,
        buffer: tuple[str, int] | int | None = None,
        buffer_index_type: str = "",
        *,
        buffer_index: int | None = None,
    ) -> BlockRV:
        """Let a block access a buffer, ``("read", 0)``, by its axes, through a copy; return the block that copies."""
        kind, index = _numbered(buffer if buffer_index is None else buffer_index, buffer_index_type)
        self._func, copy = layouts.reindexed(self._func, self._block(block).name, index, kind)
        result = BlockRV(copy)
        self._note("reindex", (block, (kind, index)), [result])
        return result

    def transform_layout(
        self,
        block: _Named,
        buffer: tuple[str, int] | int | None = None,
        buffer_index_type: str | IndexMap | Callable[..., Sequence[ExprLike]] = "",
        index_map: IndexMap | Callable[..., Sequence[ExprLike]] | None = None,
        *,
        buffer_index: int | None = None,
    ) -> None:
        """Let the elements of a buffer, ``("write", 0)``, lie where a one-to-one map of indices puts them.

        TVM 0.9 has the number and the word apart: ``buffer_index=0, buffer_index_type="write"``.
        """
        kind, index = _numbered(buffer if buffer_index is None else buffer_index, buffer_index_type)
        mapping = index_map if index_map is not None else buffer_index_type
        if isinstance(mapping, str):
            raise BlockScheduleError("transform_layout: expected a map of indices, for example lambda i, j: [j, i]")
        self._func, found = layouts.transformed(self._func, self._block(block).name, index, kind, mapping)
        self._note("transform_layout", (block, (kind, index), found))

    # Random choices

    def sample_categorical(
        self, candidates: Sequence[int], probs: Sequence[float], decision: int | None = None
    ) -> IntRV:
        """Return one of the candidates, random or the one at place ``decision``; the trace remembers which."""
        place = sampling.chosen(self._random, candidates, probs, decision)
        result = IntRV(candidates[place])
        self._note("sample_categorical", (list(candidates), list(probs)), [result], decision=place)
        return result

    def sample_perfect_tile(
        self, loop: LoopRV, n: int, max_innermost_factor: int = 16, decision: Sequence[int] | None = None
    ) -> list[IntRV]:
        """Return ``n`` factors that divide a loop exactly, random or as decided; the trace remembers which."""
        found = loop_of(self._func, self._var(loop))
        factors = sampling.perfect_tile(self._random, found, n, max_innermost_factor, decision)
        result = [IntRV(factor) for factor in factors]
        self._note("sample_perfect_tile", (loop, n, max_innermost_factor), result, decision=factors)
        return result

    def sample_compute_location(self, block: _Named, decision: int | None = None) -> LoopRV:
        """Return a loop that ``compute_at`` takes for a block, of those that read it; random or as decided."""
        places = [loop for reader in self._readers(block) for loop in loops_around(self._func, reader)]
        good = [loop for loop in dict.fromkeys(places) if self._can_be_at(block, LoopRV(loop.loop_var))]
        place = sampling.place_among(self._random, good, self._block(block).name, decision)
        result = LoopRV(good[place].loop_var)
        self._note("sample_compute_location", (block,), [result], decision=place)
        return result

    def _readers(self, block: _Named) -> list[Block]:
        scope = enclosing_block(self._func, self._block(block))
        writes = dict.fromkeys(store.buffer for store in block_writes(self._block(block)))
        return list(dict.fromkeys(reader for buffer in writes for reader in readers(scope, buffer)))

    def _can_be_at(self, block: _Named, loop: LoopRV) -> bool:
        try:
            moving.compute_at(self._func, self._block(block).name, loop.var, unit_loops=False, index=None)
        except BlockScheduleError:
            return False
        return True

    def seed(self, seed: int) -> None:
        """Begin the random choices anew."""
        self._random.seed(seed)

    def fork_seed(self) -> int:
        """Return a seed for another schedule."""
        return self._random.getrandbits(31)

    def enter_postproc(self) -> None:
        """Note in the trace that what follows is no choice any more."""
        self._note("enter_postproc", ())

    # Reductions

    def decompose_reduction(self, block: _Named, loop: LoopRV) -> BlockRV:
        """Let a block of its own before ``loop`` give a reduction its start; return that block."""
        self._func, name = reductions.decomposed(self._func, self._block(block).name, self._var(loop))
        result = BlockRV(name)
        self._note("decompose_reduction", (block, loop), [result])
        return result

    def rfactor(self, loop: LoopRV, factor_axis: int) -> BlockRV:
        """Let a loop of a reduction be an axis of partial results; return the block that makes these."""
        self._func, name = reductions.factored(self._func, self._var(loop), factor_axis)
        result = BlockRV(name)
        self._note("rfactor", (loop, factor_axis), [result])
        return result

    def get_parent(self, block: _Named) -> BlockRV:
        """Return the block around a block."""
        result = BlockRV(enclosing_block(self._func, self._block(block)).name)
        self._note("get_parent", (block,), [result])
        return result


def _numbered(buffer: tuple[str, int] | int | None, kind: object) -> tuple[str, int]:
    """Return whether a buffer is read or written, and its number: of a pair, or of a number and a word."""
    if isinstance(buffer, tuple) and len(buffer) == 2:
        return buffer
    if isinstance(buffer, int) and isinstance(kind, str):
        return kind, buffer
    raise BlockScheduleError(f"expected a buffer as ('read', 0) or ('write', 0), not {buffer!r}")


def _moved(preserve_unit_loops: bool, index: int | None) -> dict[str, object]:
    """Return the options of moving a block that are not as they always are."""
    options: dict[str, object] = {"preserve_unit_loops": True} if preserve_unit_loops else {}
    return options if index is None else {**options, "index": index}
