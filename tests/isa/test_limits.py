"""What a file may cost: the limit follows from its size, or is the one that was asked for."""

import os
import threading
from pathlib import Path

import pytest

from isa.limits import Budget, LimitError, Limits, nbytes_text, read_file

MIB = 1 << 20


def test_the_limit_follows_from_the_size() -> None:
    assert Limits().budget(0).limit == 256 * MIB
    assert Limits().budget(MIB).limit == 256 * MIB
    assert Limits().budget(4 * MIB).limit == 512 * MIB
    assert Limits(memory=17).budget(4 * MIB).limit == 17


def test_what_is_spent_is_gone_and_what_is_refused_is_not() -> None:
    budget = Limits(memory=10).budget(1)
    budget.spend(6, "a")
    for nbytes in (5, 1 << 70):
        with pytest.raises(LimitError):
            budget.spend(nbytes, "b")
    assert budget.left == 4
    budget.spend(4, "c")
    assert budget.left == 0


def test_a_refusal_says_what_is_missing_why_and_what_to_do() -> None:
    with pytest.raises(LimitError) as caught:
        Limits().budget(60).spend(4 << 30, "A")
    assert str(caught.value) == (
        "A would take 4 GiB of memory, and the limit is 256 MiB (for a file of 60 bytes); raise it (--max-memory) if "
        "you trust the file"
    )
    budget = Limits(memory=2048).budget(1)
    budget.spend(1, "a")
    with pytest.raises(LimitError) as caught:
        budget.spend(2048, "B")
    assert str(caught.value) == (
        "B would take 2 KiB of memory, and the limit is 2 KiB, less the 1 byte that other parts took (as was asked "
        "for); raise it (--max-memory) if you trust the file"
    )


def test_sizes_are_said_as_a_person_does() -> None:
    for nbytes, text in (
        (0, "0 bytes"), (1, "1 byte"), (1023, "1023 bytes"), (1024, "1 KiB"), (1536, "1.5 KiB"), (256 * MIB, "256 MiB"),
        (5 << 40, "5,120 GiB"),
    ):  # fmt: skip
        assert nbytes_text(nbytes) == text


def test_a_file_is_read_whole_and_what_has_no_size_up_to_the_limit(tmp_path: Path) -> None:
    path, pipe = tmp_path / "file", tmp_path / "pipe"
    path.write_bytes(bytes(100))
    assert read_file(path, Limits(memory=10)) == bytes(100)
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(bytes(100),))
    writer.start()
    assert read_file(pipe, Limits(memory=100)) == bytes(100)
    writer.join()
    with pytest.raises(LimitError) as caught:
        read_file("/dev/zero", Limits(memory=3 * MIB))
    assert str(caught.value) == (
        "/dev/zero: more than 3 MiB came, and this is no file whose size is known; put it into one, or raise the limit "
        "(--max-memory)"
    )


def test_a_budget_of_nothing_takes_nothing() -> None:
    budget = Budget(0, "of nothing")
    budget.spend(0, "nothing")
    with pytest.raises(LimitError, match=r"\(of nothing\)"):
        budget.spend(1, "a byte")
