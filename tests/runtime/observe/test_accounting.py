"""Accounts of cycles."""

import pytest

from runtime.observe.accounting import CycleAccount
from runtime.observe.stats import Statistics

FIRST = CycleAccount({"load": {"work": 5, "memory": 3, "idle": 0}, "store": {"work": 0, "memory": 8, "idle": 0}})
SECOND = CycleAccount({"load": {"work": 1, "memory": 0, "idle": 1}, "store": {"work": 2, "memory": 0, "idle": 0}})


def test_causes_are_those_that_occurred_in_the_order_of_the_hardware() -> None:
    assert FIRST.causes == ("work", "memory")
    assert SECOND.causes == ("work", "idle")
    assert [FIRST.total(module) for module in FIRST.modules] == [8, 8]


def test_accounts_add_up_cause_by_cause() -> None:
    both = FIRST + SECOND
    assert both.modules["load"] == {"work": 6, "memory": 3, "idle": 1}
    assert both.modules["store"] == {"work": 2, "memory": 8, "idle": 0}


def test_an_account_is_read_only() -> None:
    with pytest.raises(TypeError):
        FIRST.modules["load"]["work"] = 7  # type: ignore[index]


def test_the_text_is_a_table_with_totals() -> None:
    assert str(FIRST).splitlines() == [
        "module  work  memory  total",
        "load       5       3      8",
        "store      0       8      8",
    ]


def test_statistics_add_accounts_where_there_are_any() -> None:
    clocked = Statistics(cycles=8, account=FIRST)
    assert (Statistics() + clocked).account == FIRST
    assert (clocked + Statistics()).account == FIRST
    total = clocked + Statistics(cycles=2, account=SECOND)
    assert (total.cycles, total.account) == (10, FIRST + SECOND)
    assert (Statistics() + Statistics()).account is None
