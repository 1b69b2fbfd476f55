"""The table of cycles by module and cause."""

import io

from rich.console import Console

from runtime.observe.accounting import CycleAccount
from vta.cli.account import account_table


def test_the_table_has_a_row_for_each_cause_that_occurred_and_the_totals() -> None:
    account = CycleAccount({"load": {"work": 1200, "memory": 3, "idle": 0}, "store": {"work": 0, "memory": 1203}})
    console = Console(file=io.StringIO(), width=60)
    console.print(account_table(account, title="cycles"))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    rows = [[cell.strip() for cell in line.strip("│┃").replace("┃", "│").split("│")] for line in text.splitlines()]
    assert [row for row in rows if len(row) == 3] == [
        ["cause", "load", "store"],
        ["work", "1,200", "0"],
        ["memory", "3", "1,203"],
        ["total", "1,203", "1,203"],
    ]
