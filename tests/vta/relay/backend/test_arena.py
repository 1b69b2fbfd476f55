"""Tensors that lie in others: one piece of memory, as long as any of it is touched."""

from runtime.executor.network import Home, HostStep, Tensor
from vta.relay.backend.arena import Arena

PAGE = 4096


def tensor(name: str, nbytes: int) -> Tensor:
    return Tensor(name, (nbytes,), "int8", Home.ARENA)


def step(reads: str, writes: str) -> HostStep:
    return HostStep("step", "copy", (reads,), (writes,))


def test_parts_lie_in_the_whole_however_deep() -> None:
    tensors = {t.name: t for t in (tensor("a", 100), tensor("b", 60), tensor("ab", 160), tensor("all", 200))}
    tensors["x"] = Tensor("x", (1,), "int8")
    arena = Arena()
    arena.put("a", "ab", 0)
    arena.put("b", "ab", 100)
    arena.put("ab", "all", 40)
    total = arena.plan([step("x", "a"), step("x", "b"), step("all", "x")], tensors)
    assert total == PAGE
    assert {name: tensors[name].offset for name in ("a", "b", "ab", "all")} == {"a": 40, "b": 140, "ab": 40, "all": 0}


def test_memory_is_kept_from_the_first_part_to_the_last_reader_of_the_whole() -> None:
    tensors = {t.name: t for t in (tensor("a", 100), tensor("ab", 200), tensor("between", 100), tensor("later", 100))}
    tensors["x"] = Tensor("x", (1,), "int8")
    arena = Arena()
    arena.put("a", "ab", 100)
    steps = [step("x", "a"), step("x", "between"), step("between", "x"), step("ab", "x"), step("x", "later")]
    total = arena.plan(steps, tensors)
    assert total == 2 * PAGE
    assert tensors["between"].offset // PAGE != tensors["ab"].offset // PAGE
    assert tensors["later"].offset in (0, PAGE)


def test_a_tensor_that_is_renamed_stays_where_it_is() -> None:
    arena = Arena()
    arena.put("a", "whole", 8)
    arena.rename("a", "part")
    arena.rename("whole", "all")
    assert arena.within == {"part": ("all", 8)}
