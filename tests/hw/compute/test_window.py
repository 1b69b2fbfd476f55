"""The window: units work out of order, but nothing that conflicts is passed, and tokens go in order."""

import itertools
from collections import deque
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from hw.compute.binder import binding_layout
from hw.compute.instruction_queue import classified_layout
from hw.compute.jobs import WINDOW, Unit, done_layout
from hw.compute.window import UNITS, Window
from hw.sim import compile_design
from isa.encoding import encode
from isa.instructions import Alu, AluOpcode, Deps, Finish, Gemm, Load, MemoryId
from tests.support.hw.compute_rig import COMPUTE_CONFIGS

CONFIG = COMPUTE_CONFIGS["block4"]


def _random_instruction(rng: np.random.Generator) -> tuple[Any, ...]:
    """Return an instruction, the unit that the binder is to give it, and its range of accumulators."""
    deps = Deps(**{flag: bool(rng.random() < 0.2) for flag in ("pop_prev", "pop_next", "push_prev", "push_next")})
    begin = int(rng.integers(20))
    end = int(rng.integers(begin + 1, 25))
    low = int(rng.integers(CONFIG.acc_depth))
    bounds = (low, int(rng.integers(low, min(low + 12, CONFIG.acc_depth))))
    match int(rng.integers(6)):
        case 0:
            return Load(memory=MemoryId.UOP, sram_base=begin, y_size=1, x_size=end - begin, deps=deps), Unit.UOP, None
        case 1:
            return Load(memory=MemoryId.ACC, sram_base=low, y_size=1, x_size=1, deps=deps), Unit.ACC, bounds
        case 2:
            return Gemm(uop_bgn=begin, uop_end=end, deps=deps), Unit.GEMM, bounds
        case 3:
            return Alu(alu_opcode=AluOpcode.MAX, uop_bgn=begin, uop_end=end, deps=deps), Unit.ALU, bounds
        case 4:
            return Gemm(reset=True, uop_bgn=begin, uop_end=end, deps=deps), Unit.RESET, bounds
        case _:
            return Gemm(uop_bgn=end, uop_end=begin, deps=deps), Unit.NONE, None


def _classified(instruction: Any, unit: Unit) -> int:
    """Return what the instruction queue hands on: the word, the unit before binding, the range of micro-ops."""
    bgn = getattr(instruction, "uop_bgn", 0)
    end = getattr(instruction, "uop_end", 0)
    if unit == Unit.UOP:
        bgn, end = instruction.sram_base, instruction.sram_base + instruction.x_size
    unit = Unit.GEMM if unit == Unit.RESET else unit
    kind = {"word": encode(instruction, CONFIG), "unit": int(unit), "uop_bgn": bgn, "uop_end": end}
    word: int = classified_layout(CONFIG).const(kind).as_bits()
    return word


def _conflict(new: Any, old: Any) -> Any:
    """Return whether ``new`` has to wait for ``old``, which is of another unit."""
    (instruction, unit, bounds), (before, unit_before, bounds_before) = new, old
    if unit == Unit.UOP:
        uses = unit_before in (Unit.GEMM, Unit.ALU)
        end = instruction.sram_base + instruction.x_size
        return uses and before.uop_bgn < end and instruction.sram_base < before.uop_end
    if bounds is None or bounds_before is None:
        return False
    return bounds[0] <= bounds_before[1] and bounds_before[0] <= bounds[1]


class _Bench:
    def __init__(self, program: list[Any], seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.design = compile_design(Window(CONFIG))
        self.program = program
        self.words = deque(_classified(instruction, unit) for instruction, unit, _ in program)
        self.issued = 0
        self.bound = 0
        self.started: dict[Any, Any] = {}
        self.complete: set[Any] = set()
        self.running: dict[Any, deque[Any]] = {unit: deque() for unit in UNITS}
        self.pushes = {"g2l": 0, "g2s": 0}
        self.retired = 0
        self.together = 0
        self.begun_early = 0
        self.pushed_early = 0

    def cycle(self) -> None:
        design, rng = self.design, self.rng
        valid = int(bool(self.words) and rng.random() < 0.8)
        design.poke("insn__valid", valid)
        if self.words:
            design.poke("insn__payload", self.words[0])
        for name in ("l2g", "s2g"):
            design.poke(f"{name}_available", int(rng.random() < 0.7))
        self._finish_some()
        self._bind()
        self._start_some()
        if valid and design.peek("insn__ready"):
            deps = self.program[self.issued][0].deps
            assert design.peek("l2g_pop") == deps.pop_prev <= design.peek("l2g_available")
            assert design.peek("s2g_pop") == deps.pop_next <= design.peek("s2g_available")
            self.words.popleft()
            self.issued += 1
        else:
            assert not design.peek("l2g_pop")
            assert not design.peek("s2g_pop")
        self._check_pushes()
        self.together += sum(bool(jobs) for jobs in self.running.values()) > 1
        design.step()

    def _finish_some(self) -> None:
        layout = done_layout()
        word = 0
        for place, unit in enumerate(UNITS):
            if self.running[unit] and self.rng.random() < 0.15:
                index = self.running[unit].popleft()
                self.complete.add(index)
                word |= layout.const({"valid": 1, "tag": index % WINDOW}).as_bits() << (place * layout.size)
        self.design.poke("done", word)

    def _bind(self) -> None:
        """Bind as the binder would: in order, now or later, and not before the micro-ops are there."""
        design = self.design
        take = design.peek("bind_valid") and not design.peek("bind_uops_pending") and self.rng.random() < 0.5
        design.poke("bind_take", int(take))
        if not take:
            return
        instruction, unit, bounds = self.program[self.bound]
        offered = Unit(design.peek("bind_unit"))
        assert offered == (Unit.GEMM if unit == Unit.RESET else unit)
        assert design.peek("bind_insn") == encode(instruction, CONFIG)
        if unit in (Unit.GEMM, Unit.ALU, Unit.RESET):
            loads = [i for i in range(self.bound) if self.program[i][1] == Unit.UOP and i not in self.complete]
            ranges = [(self.program[i][0].sram_base, self.program[i][0].x_size) for i in loads]
            assert not any(b < instruction.uop_end and instruction.uop_bgn < b + n for b, n in ranges)
        low, high = bounds or (0, 0)
        binding = {"unit": int(unit), "low": low, "high": high, "first": low, "step": self.bound % 7}
        design.poke("binding", binding_layout(CONFIG).const(binding).as_bits())
        self.bound += 1

    def _start_some(self) -> None:
        design = self.design
        for unit in UNITS:
            name = f"jobs_{unit.name.lower()}"
            ready = int(self.rng.random() < 0.6)
            design.poke(f"{name}__ready", ready)
            if not (ready and design.peek(f"{name}__valid")):
                continue
            payload = design.peek(f"{name}__payload")
            index = next(i for i in range(len(self.program)) if self.program[i][1] == unit and i not in self.started)
            assert payload & ((1 << 128) - 1) == encode(self.program[index][0], CONFIG)
            assert payload >> 128 == index % WINDOW
            for before in range(index):
                if before not in self.complete and self.program[before][1] not in (unit, Unit.NONE):
                    assert not _conflict(self.program[index], self.program[before]), (index, before)
            if unit == Unit.RESET:
                assert (design.peek("reset_first"), design.peek("reset_step")) == (self.program[index][2][0], index % 7)
            if index >= self.bound:
                assert unit in (Unit.UOP, Unit.GEMM, Unit.ALU)
                self.begun_early += unit != Unit.UOP
            self.started[index] = True
            self.running[unit].append(index)

    def _check_pushes(self) -> None:
        """A push says that its instruction and all before it are complete; to the load module, resets are posted."""
        design = self.design
        for name, flag, posted in (("g2l", "push_prev", Unit.RESET), ("g2s", "push_next", None)):
            if not design.peek(f"{name}_push"):
                continue
            senders = [i for i, (instruction, _, _) in enumerate(self.program) if getattr(instruction.deps, flag)]
            sender = senders[self.pushes[name]]
            unfinished = {self.program[i][1] for i in range(sender + 1) if i not in self.complete} - {Unit.NONE}
            assert unfinished <= {posted}
            assert sender < (self.issued if posted else self.bound)
            self.pushed_early += bool(unfinished)
            self.pushes[name] += 1


@pytest.mark.parametrize("seed", [0, 1, 2, 6])
def test_no_conflict_is_passed_and_pushes_are_in_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    program = [_random_instruction(rng) for _ in range(300)]
    program.append((Finish(), Unit.NONE, None))
    bench = _Bench(program, seed)
    cycles = 0
    while not bench.design.peek("finish"):
        bench.cycle()
        cycles += 1
        assert cycles < 20_000
    assert bench.pushes["g2l"] == sum(instruction.deps.push_prev for instruction, _, _ in program)
    assert bench.pushes["g2s"] == sum(instruction.deps.push_next for instruction, _, _ in program)
    assert bench.together > 50
    assert bench.begun_early > 0
    assert bench.pushed_early > 0
    bench.design.poke("insn__valid", 0)
    bench.design.step()
    assert bench.design.peek("empty")


def test_an_instruction_is_taken_with_its_tokens_and_what_blocks_it_is_said() -> None:
    """Every combination in an empty window: a missing token of the load module comes first."""
    design = compile_design(Window(CONFIG))
    for valid, pop_prev, pop_next, l2g, s2g in itertools.product((0, 1), repeat=5):
        design.reset()
        design.poke("insn__valid", valid)
        design.poke(
            "insn__payload",
            _classified(Finish(deps=Deps(pop_prev=bool(pop_prev), pop_next=bool(pop_next))), Unit.NONE),
        )
        design.poke("l2g_available", l2g)
        design.poke("s2g_available", s2g)
        has_prev, has_next = l2g or not pop_prev, s2g or not pop_next
        taken = valid and has_prev and has_next
        assert design.peek("insn__ready") == int(taken)
        assert design.peek("l2g_pop") == int(taken and pop_prev)
        assert design.peek("s2g_pop") == int(taken and pop_next)
        assert design.peek("blocked_prev") == int(valid and not has_prev)
        assert design.peek("blocked_next") == int(valid and has_prev and not has_next)
        assert design.peek("empty") == 1
        design.step()
        assert design.peek("empty") == int(not taken)


def test_a_full_window_takes_nothing_and_is_blocked_by_no_token() -> None:
    design = compile_design(Window(CONFIG))
    design.poke("insn__valid", 1)
    design.poke("insn__payload", _classified(Gemm(uop_end=1, deps=Deps(pop_prev=True)), Unit.GEMM))
    design.poke("l2g_available", 1)
    for _ in range(WINDOW):
        assert design.peek("insn__ready")
        design.step()
    for available in (0, 1):
        design.poke("l2g_available", available)
        assert (design.peek("insn__ready"), design.peek("l2g_pop"), design.peek("blocked_prev")) == (0, 0, 0)


_WAYS: dict[Unit, tuple[Any, Unit]] = {
    Unit.UOP: (Load(memory=MemoryId.UOP, sram_base=100, y_size=1, x_size=2), Unit.UOP),
    Unit.ACC: (Load(memory=MemoryId.ACC, y_size=1, x_size=1), Unit.ACC),
    Unit.GEMM: (Gemm(uop_end=1), Unit.GEMM),
    Unit.ALU: (Alu(alu_opcode=AluOpcode.ADD, uop_end=1), Unit.ALU),
    Unit.RESET: (Gemm(reset=True, uop_end=1), Unit.GEMM),
    Unit.NONE: (Gemm(uop_end=0), Unit.NONE),
}
"""An instruction of each unit, and the unit that it has before it is bound."""


@cache
def _design() -> Any:
    return compile_design(Window(CONFIG))


class _Steps:
    """One instruction after the other, each when the test says so."""

    def __init__(self) -> None:
        self.design = _design()
        self.design.reset()
        for unit in UNITS:
            self.design.poke(f"jobs_{unit.name.lower()}__ready", 1)

    def issue(self, unit: Unit, *, deps: Deps | None = None) -> None:
        instruction, kind = _WAYS[unit]
        if deps is not None:
            instruction = replace(instruction, deps=deps)
        self.design.poke("insn__valid", 1)
        self.design.poke("insn__payload", _classified(instruction, kind))
        assert self.design.peek("insn__ready")
        self.design.step()
        self.design.poke("insn__valid", 0)

    def bind(self, unit: Unit, low: int = 0, high: int = 0) -> None:
        """Bind the next instruction; stop in the cycle after it."""
        while not self.design.peek("bind_valid"):
            self.design.step()
        fields = {"unit": int(unit), "low": low, "high": high, "first": low, "step": 1}
        self.design.poke("bind_take", 1)
        self.design.poke("binding", binding_layout(CONFIG).const(fields).as_bits())
        self.design.step()
        self.design.poke("bind_take", 0)

    def done(self, unit: Unit, tag: int) -> None:
        """Say that an instruction is complete; stop in the cycle in which the window knows it."""
        layout = done_layout()
        at = UNITS.index(unit) * layout.size
        self.design.poke("done", int(layout.const({"tag": tag, "valid": 1}).as_bits()) << at)
        self.design.step()
        self.design.poke("done", 0)

    def watch(self, cycles: int) -> list[set[Unit]]:
        """Return which units are offered an instruction in each of the next cycles."""
        seen = []
        for _ in range(cycles):
            seen.append(self.offered())
            self.design.step()
        return seen

    def offered(self) -> set[Unit]:
        return {unit for unit in UNITS if self.design.peek(f"jobs_{unit.name.lower()}__valid")}


@pytest.mark.parametrize("before", Unit)
@pytest.mark.parametrize("unit", [Unit.GEMM, Unit.ALU, Unit.RESET, Unit.ACC])
def test_gemm_and_alu_begin_unbound_where_no_other_unit_has_work_before_them(unit: Unit, before: Unit) -> None:
    """Before them: nothing, where its unit is NONE; loads of micro-ops that they do not use, or their own unit's."""
    steps = _Steps()
    steps.issue(before)
    steps.bind(before)
    steps.design.step(3)
    steps.issue(unit)
    early = unit in (Unit.GEMM, Unit.ALU)
    at_once = early and before in (Unit.NONE, Unit.UOP, unit)
    found = steps.watch(6)
    assert found.count({unit}) == int(at_once)  # taken by its unit in that cycle, and sent there once
    if before in UNITS:
        steps.done(before, 0)
        found = steps.watch(6)
        assert found.count({unit}) == int(early and not at_once)
    steps.bind(unit)
    found = steps.watch(6)
    assert sum(map(len, found)) == int(not early)


@pytest.mark.parametrize("before", UNITS)
@pytest.mark.parametrize("unit", [Unit.ACC, Unit.RESET, Unit.ALU, Unit.GEMM])
@pytest.mark.parametrize(("low", "high", "meets"), [(0, 9, 0), (0, 10, 1), (15, 15, 1), (20, 30, 1), (21, 30, 0)])
def test_a_bound_instruction_waits_for_another_unit_that_meets_its_range(
    unit: Unit, before: Unit, low: int, high: int, meets: int
) -> None:
    """The one before has 10 to 20. It is waited for to the second cycle after the window knows that it is complete."""
    steps = _Steps()
    steps.issue(before)
    steps.bind(before, 10, 20)
    steps.design.step(3)
    steps.issue(unit)
    waits = bool(meets) and before not in (unit, Unit.UOP)
    begun = unit in (Unit.GEMM, Unit.ALU) and before in (unit, Unit.UOP)  # unbound: of the test above
    steps.design.step(3)
    steps.bind(unit, low, high)
    found = steps.watch(4)
    assert ({unit} in found) is (not waits and not begun)
    assert steps.design.peek("waiting") == int(waits)
    if waits:
        steps.done(before, 0)
        steps.design.step()
        assert steps.offered() == set()
        steps.design.step()
        assert steps.offered() == {unit}
        assert not steps.design.peek("waiting")


@pytest.mark.parametrize("unit", UNITS)
def test_an_instruction_retires_in_the_cycle_in_which_it_is_known_to_be_complete(unit: Unit) -> None:
    """It sends its tokens there: one behind the unit's word. A reset's goes to the load module when it is issued."""
    steps = _Steps()
    steps.issue(unit, deps=Deps(push_prev=True, push_next=True))
    sent = [steps.design.peek("g2l_push")]
    steps.bind(unit)
    for _ in range(4):
        sent.append(steps.design.peek("g2l_push"))
        assert not steps.design.peek("g2s_push")
        steps.design.step()
    assert sum(sent) == int(unit == Unit.RESET)
    steps.done(unit, 0)
    assert steps.design.peek("g2s_push")
    assert steps.design.peek("g2l_push") == int(unit != Unit.RESET)
    assert not steps.design.peek("empty")
    steps.design.step()
    assert (steps.design.peek("g2s_push"), steps.design.peek("g2l_push"), steps.design.peek("empty")) == (0, 0, 1)


def test_what_has_nothing_to_do_retires_when_it_is_bound() -> None:
    steps = _Steps()
    steps.issue(Unit.NONE, deps=Deps(push_prev=True, push_next=True))
    steps.design.step(3)
    assert (steps.design.peek("g2s_push"), steps.design.peek("g2l_push")) == (0, 0)
    steps.bind(Unit.NONE)
    assert (steps.design.peek("g2s_push"), steps.design.peek("g2l_push")) == (1, 1)
    steps.design.step()
    assert steps.design.peek("empty")


@pytest.mark.parametrize("early", [Unit.GEMM, Unit.ALU])
def test_what_is_complete_before_it_is_bound_says_so_and_retires_behind_its_binding(early: Unit) -> None:
    steps = _Steps()
    for number in range(2 * WINDOW + 1):  # each place of the ring has had another instruction before
        steps.issue(early, deps=Deps(push_next=True))
        steps.design.step(3)
        assert not steps.design.peek("bind_complete")
        steps.done(early, number % WINDOW)
        steps.design.step()
        assert steps.design.peek("bind_complete")
        steps.design.step(2)
        assert not steps.design.peek("g2s_push")
        steps.bind(early)
        assert steps.design.peek("g2s_push")
        assert not steps.design.peek("bind_complete")
        steps.design.step()
        assert steps.design.peek("empty")


@pytest.mark.parametrize(("begin", "size", "meets"), [(0, 10, 0), (9, 2, 1), (12, 1, 1), (14, 5, 1), (15, 3, 0)])
@pytest.mark.parametrize("user", [Unit.GEMM, Unit.ALU, Unit.RESET, Unit.ACC])
def test_a_load_of_micro_ops_waits_for_users_of_its_places_and_users_for_it(
    user: Unit, begin: int, size: int, meets: int
) -> None:
    """The user has the places 10 to 14; one that is bound or not."""
    load = _classified(Load(memory=MemoryId.UOP, sram_base=begin, y_size=1, x_size=size), Unit.UOP)
    instruction, kind = _WAYS[user]
    if user == Unit.ACC:
        meets = 0
    else:
        instruction = replace(instruction, uop_bgn=10, uop_end=15)
    words = [_classified(instruction, kind), load]
    for order in (words, words[::-1]):
        steps = _Steps()
        for word in order:
            steps.design.poke("insn__valid", 1)
            steps.design.poke("insn__payload", word)
            steps.design.step()
        steps.design.poke("insn__valid", 0)
        found = steps.watch(5)
        if order is words:
            assert any(Unit.UOP in each for each in found) is not bool(meets)
            assert steps.design.peek("waiting") == meets
        else:
            steps.bind(Unit.UOP)
            assert steps.design.peek("bind_uops_pending")  # for two cycles, whichever load it is
            steps.design.step(2)
            assert steps.design.peek("bind_uops_pending") == meets
            steps.done(Unit.UOP, 0)
            steps.design.step(2)
            assert not steps.design.peek("bind_uops_pending")
