"""The loop nest of an ALU stage, seen by the accelerator: loops over elements, and what must stay with the host.

The lanes of an element (BATCH x BLOCK_OUT numbers) vanish. A loop stays a loop of the kernel where all indices grow by
a constant number of elements; otherwise (index not linear, a scalar or another loop's extent depends on it, a condition
on several loops) the host runs it around the kernels. A condition on one loop shortens that loop.

Tests: tests/vta/passes/alu/test_alu_nest.py and the rest of tests/vta/passes/alu.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from isa.config import VTAConfig
from isa.origin import Origin
from vta.arith.facts import conjuncts
from vta.arith.linear import detect_clip_bound, detect_linear_equation
from vta.arith.simplify import Analyzer
from vta.passes.alu.expression import (
    AluError,
    AluTree,
    Location,
    Scalar,
    Tile,
    leaves,
    map_leaves,
    parse_store,
)
from vta.passes.memory_info import MemoryInfo, memory_info
from vta.tir.dtype import BOOL
from vta.tir.expr import Expr, IntImm, Max, Min, Range, Var, binary, const
from vta.tir.scopes import ACC_SCOPE
from vta.tir.stmt import BufferStore, For
from vta.tir.traverse import substitute, uses_var

__all__ = ["AluNest", "ElementLoop", "LaneError", "Level", "analyse_nest"]


class LaneError(AluError):
    """A stage whose loops do not go over all numbers of an element."""


Level = For | Expr
"""A loop around the store, or a condition on it; outermost first."""


@dataclass(frozen=True, slots=True)
class ElementLoop:
    """A loop of the kernels, from 0 to ``extent - 1``; ``size`` is the largest extent that it can have."""

    var: Var
    extent: Expr
    size: int


@dataclass(frozen=True, slots=True)
class AluNest:
    """A stage: ``result = tree`` for all ``loops``, if ``guards`` hold, for all ``hosted`` loops around it.

    ``keeps_order`` says that the hosted loops were the outermost ones, so that nothing was exchanged.
    """

    hosted: tuple[For, ...]
    guards: tuple[Expr, ...]
    loops: tuple[ElementLoop, ...]
    result: Location
    tree: AluTree
    keeps_order: bool


def analyse_nest(
    levels: Sequence[Level],
    store: BufferStore,
    config: VTAConfig,
    analyzer: Analyzer,
    *,
    host_also: Iterable[Var] = (),
    origin: Origin | None = None,
) -> AluNest:
    """Return the nest of ``store`` under ``levels``; raises ``AluError``.

    ``analyzer`` knows the loops around the stage and learns those of the stage. ``host_also`` are loops to leave to the
    host in any case.
    """
    work = _Work(analyzer, memory_info(config, ACC_SCOPE), origin, store, parse_store(store, config, origin))
    work.enter(levels)
    work.hosted.extend(host_also)
    work.sort_out_loops()
    return work.finish()


@dataclass(slots=True)
class _Loop:
    var: Var
    extent: Expr
    original: For
    low: Expr | None = None
    high: Expr | None = None


@dataclass(slots=True)
class _Work:
    """The analysis: loops outermost first, those for the host, conditions that are not settled yet."""

    analyzer: Analyzer
    memory: MemoryInfo
    origin: Origin | None
    store: BufferStore
    tree: AluTree
    loops: list[_Loop] = field(default_factory=list)
    hosted: list[Var] = field(default_factory=list)
    conditions: list[Expr] = field(default_factory=list)
    guards: list[Expr] = field(default_factory=list)
    lanes: dict[Var, int] = field(default_factory=dict)

    # --- loops ---------------------------------------------------------------------------------------------------

    def enter(self, levels: Sequence[Level]) -> None:
        """Take in loops and conditions, with every loop counting from 0, and those of one iteration replaced."""
        shifted: dict[Var, Expr] = {}
        for level in levels:
            if not isinstance(level, For):
                self.conditions.extend(conjuncts(substitute(level, shifted)))
                continue
            extent = self.analyzer.simplify(substitute(level.extent, shifted))
            low = self.analyzer.simplify(substitute(level.min, shifted))
            if isinstance(extent, IntImm) and extent.value == 1:
                shifted[level.loop_var] = low
                continue
            self.analyzer.bind(level.loop_var, Range(const(0, level.loop_var.dtype), extent))
            self.loops.append(_Loop(level.loop_var, extent, level))
            if not isinstance(low, IntImm) or low.value:
                shifted[level.loop_var] = level.loop_var + low
        self._substitute(shifted)

    def _substitute(self, mapping: dict[Var, Expr]) -> None:
        if not mapping:
            return
        self.store = replace(self.store, indices=tuple(substitute(index, mapping) for index in self.store.indices))
        self.tree = _substitute_tree(self.tree, mapping)

    @property
    def active(self) -> list[_Loop]:
        """The loops that are not the host's."""
        return [loop for loop in self.loops if loop.var not in self.hosted]

    def host(self, candidates: Iterable[Var]) -> bool:
        """Leave those of ``candidates`` that are still active to the host; whether there were any.

        The host's loops are whole: what shortened one is a condition again.
        """
        wanted = set(candidates)
        found = [loop for loop in self.active if loop.var in wanted]
        for loop in found:
            self.conditions += [] if loop.low is None else [loop.low <= loop.var]
            self.conditions += [] if loop.high is None else [loop.var <= loop.high]
            loop.low = loop.high = None
        self.hosted.extend(loop.var for loop in found)
        return bool(found)

    def indices(self) -> list[Expr]:
        """Return the index of the result and of every operand."""
        return [self.store.indices[0], *(leaf.index for leaf in leaves(self.tree) if isinstance(leaf, Tile))]

    def form(self, index: Expr) -> tuple[Expr, ...] | None:
        """Return the steps of ``index`` over the active loops, and its base."""
        return detect_linear_equation(index, [loop.var for loop in self.active], self.analyzer)

    def sort_out_loops(self) -> None:
        """Find out which loops the host must run, until nothing changes."""
        changed = True
        while changed:
            steps = (self._host_for_indices, self._host_for_values, self._settle_conditions)
            changed = max([step() for step in steps])

    def _host_for_indices(self) -> bool:
        changed = [self._host_for_index(index) for index in self.indices()]
        return any(changed)

    def _host_for_index(self, index: Expr) -> bool:
        form = self.form(index)
        if form is None:
            used = [loop.var for loop in self.active if uses_var(index, loop.var)]
            alone = [var for var in used if detect_linear_equation(index, [var], self.analyzer) is None]
            return self.host((alone or used)[:1])
        varying = [loop.var for loop, step in zip(self.active, form, strict=False) if not isinstance(step, IntImm)]
        return self.host(varying[:1])

    def _host_for_values(self) -> bool:
        """Leave loops to the host on which a scalar or the extent of another loop depends."""
        values = [leaf.value for leaf in leaves(self.tree) if isinstance(leaf, Scalar)]
        values += [loop.extent for loop in self.active]
        return self.host([loop.var for loop in self.active if any(uses_var(value, loop.var) for value in values)])

    def _settle_conditions(self) -> bool:
        """Turn each condition into a guard or a bound of one loop, or leave its outermost loop to the host."""
        changed = False
        conditions, self.conditions = self.conditions, []
        for condition in conditions:
            condition = self.analyzer.simplify(condition)
            used = [loop for loop in self.active if uses_var(condition, loop.var)]
            if not used:
                self.guards.append(condition)
            elif len(used) > 1 or not self._clip(used[0], condition):
                self.host([used[0].var])
                self.conditions.append(condition)
                changed = True
        return changed

    def _clip(self, loop: _Loop, condition: Expr) -> bool:
        bounds = detect_clip_bound(condition, [loop.var], self.analyzer)
        if bounds is None:
            return False
        low, high = bounds[0]
        if low is not None:
            loop.low = low if loop.low is None else binary(Max, loop.low, low)
        if high is not None:
            loop.high = high if loop.high is None else binary(Min, loop.high, high)
        return True

    # --- lanes -------------------------------------------------------------------------------------------------------

    def _find_lanes(self) -> None:
        """Find the loops over the numbers of an element: together they step through all of them, one by one."""
        form = self.form(self.store.indices[0])
        assert form is not None, "indices that are not linear went to the host"
        steps = {loop.var: s.value for loop, s in zip(self.active, form, strict=False) if isinstance(s, IntImm)}
        reach = 1
        while reach < self.memory.lanes:
            loop = next((lo for lo in self.active if steps[lo.var] == reach and lo.var not in self.lanes), None)
            if loop is None or not isinstance(loop.extent, IntImm) or loop.low is not None or loop.high is not None:
                raise self._lane_error(steps)
            rest = self.memory.lanes // reach
            if rest % loop.extent.value and loop.extent.value % rest:
                raise self._lane_error(steps)
            self.lanes[loop.var] = min(rest, loop.extent.value)
            reach *= self.lanes[loop.var]

    def _lane_error(self, steps: dict[Var, int]) -> LaneError:
        loops = [f"{lo.var.name} ({_extent_text(lo)}, step {steps[lo.var]})" for lo in self.active]
        hosted = [f"{var.name} (index, scalar or condition not regular)" for var in self.hosted]
        info = self.memory
        hint = f"the innermost axes of the stage are {info.rows} and {info.columns} long, whole, without conditions"
        if not loops and not hosted:
            hint += (
                "; the ALU does not combine the numbers of one element (env.gemm sums over them), and every output "
                "needs a stage of its own"
            )
        return LaneError(
            f"ALU stage into {self.store.buffer.name!r}",
            expected=f"inner loops over all {info.rows}x{info.columns} numbers of an element (BATCH x BLOCK_OUT)",
            got=f"loops {', '.join([*loops, *hosted])}" if loops or hosted else "no loop around this store alone",
            hint=hint,
            origin=self.origin,
        )

    def _error(self, *, expected: str, got: str, hint: str = "") -> AluError:
        name = self.store.buffer.name
        return AluError(f"ALU stage into {name!r}", expected=expected, got=got, hint=hint, origin=self.origin)

    # --- results -----------------------------------------------------------------------------------------------------

    def finish(self) -> AluNest:
        """Return the nest in units of elements."""
        self._find_lanes()
        self._split_lane_loops()
        loops = self._clipped_loops()
        result = self._place(self.store.buffer.name, self.store.indices[0], loops)
        tree = map_leaves(lambda leaf: self._placed(leaf, loops), self.tree)
        hosted = [loop for loop in self.loops if loop.var in self.hosted]
        over_elements = [loop for loop in self.loops if loop.var not in self.lanes]
        return AluNest(
            hosted=tuple(replace(lo.original, min=const(0, lo.var.dtype), extent=lo.extent) for lo in hosted),
            guards=tuple(g for g in map(self.analyzer.simplify, self.guards) if not _is_true(g)),
            loops=tuple(loops),
            result=result,
            tree=tree,
            keeps_order=hosted == over_elements[: len(hosted)],
        )

    def _split_lane_loops(self) -> None:
        """Give the elements of a loop that runs over lanes and elements a loop of their own."""
        for loop in list(self.active):
            lanes = self.lanes.get(loop.var)
            if lanes is None or not isinstance(loop.extent, IntImm) or loop.extent.value == lanes:
                continue
            outer = Var(f"{loop.var.name}.element", loop.var.dtype)
            count = const(loop.extent.value // lanes, outer.dtype)
            self.analyzer.bind(outer, Range(const(0, outer.dtype), count))
            self._substitute({loop.var: outer * lanes + loop.var})
            self.loops.insert(self.loops.index(loop), _Loop(outer, count, loop.original))

    def _clipped_loops(self) -> list[ElementLoop]:
        loops: list[ElementLoop] = []
        for loop in self.active:
            if loop.var in self.lanes:
                continue
            size = self.analyzer.const_bounds(loop.extent).hi
            if size is None:
                raise self._error(
                    expected="loops whose largest extent is known",
                    got=f"loop {loop.var.name} with an extent that has no bound",
                    hint="split the loop so that its inner part has a constant extent",
                )
            loops.append(self._clipped(loop, size))
        return loops

    def _clipped(self, loop: _Loop, size: int) -> ElementLoop:
        if loop.low is None and loop.high is None:
            if not isinstance(loop.extent, IntImm):
                self._guard_against_none(loop.extent)
            return ElementLoop(loop.var, loop.extent, size)
        low = self.analyzer.simplify(binary(Max, loop.low, 0)) if loop.low is not None else const(0)
        last = loop.extent - 1
        high = self.analyzer.simplify(binary(Min, loop.high, last)) if loop.high is not None else last
        extent = self.analyzer.simplify(high - low + 1)
        self._guard_against_none(extent)
        self._substitute({loop.var: loop.var + low})
        return ElementLoop(loop.var, extent, size)

    def _guard_against_none(self, extent: Expr) -> None:
        if not self.analyzer.can_prove(extent > 0):
            self.guards.append(extent > 0)

    def _place(self, name: str, index: Expr, loops: Sequence[ElementLoop]) -> Location:
        """Return ``index`` in elements."""
        lanes = list(self.lanes)
        form = detect_linear_equation(index, [*lanes, *(loop.var for loop in loops)], self.analyzer)
        mine = detect_linear_equation(self.store.indices[0], lanes, self.analyzer)
        assert form is not None, "indices that are not linear went to the host"
        assert mine is not None, "the result's index is linear too"
        for var, step, wanted in zip(lanes, form, mine, strict=False):
            if not self.analyzer.can_prove_equal(step, wanted):
                raise self._error(
                    expected="operands with a number for every lane of the result",
                    got=f"{name!r}, which does not follow the loop over lanes {var.name}",
                    hint="an operand that is the same for all lanes must be a scalar, or be repeated in each lane; "
                    "sums over the numbers of one element are env.gemm's",
                )
        moving = zip(loops, form[len(lanes) : -1], strict=True)
        steps = [self._in_elements(name, step, f"loop {loop.var.name}") for loop, step in moving]
        values = [step.value for step in steps if isinstance(step, IntImm)]
        return Location(self._in_elements(name, form[-1], "the first access"), tuple(values))

    def _placed(self, leaf: Tile | Scalar, loops: Sequence[ElementLoop]) -> Tile | Scalar:
        match leaf:
            case Tile():
                return replace(leaf, location=self._place(leaf.name, leaf.index, loops))
            case Scalar():
                return leaf

    def _in_elements(self, name: str, offset: Expr, what: str) -> Expr:
        lanes = self.memory.lanes
        if not self.analyzer.can_prove_equal(offset % lanes, const(0, offset.dtype)):
            info = self.memory
            amount = str(offset.value) if isinstance(offset, IntImm) else "an amount that varies"
            raise self._error(
                expected=f"accesses to {name!r} at multiples of {lanes} numbers ({info.rows}x{info.columns})",
                got=f"{amount} for {what}",
                hint="the last axes of every operand are BATCH and BLOCK_OUT",
            )
        return self.analyzer.simplify(offset // lanes)


def _extent_text(loop: _Loop) -> str:
    text = f"{loop.extent.value} times" if isinstance(loop.extent, IntImm) else "a varying number of times"
    return text if loop.low is None and loop.high is None else f"{text}, under a condition"


def _is_true(condition: Expr) -> bool:
    return isinstance(condition, IntImm) and condition.dtype == BOOL and bool(condition.value)


def _substitute_tree(tree: AluTree, mapping: dict[Var, Expr]) -> AluTree:
    return map_leaves(lambda leaf: _substitute_leaf(leaf, mapping), tree)


def _substitute_leaf(leaf: Tile | Scalar, mapping: dict[Var, Expr]) -> Tile | Scalar:
    match leaf:
        case Tile():
            return replace(leaf, index=substitute(leaf.index, mapping))
        case Scalar():
            return Scalar(substitute(leaf.value, mapping))
