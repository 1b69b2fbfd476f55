"""What each module of the hardware spent its cycles on, as a table.

Tests: tests/vta/cli/test_account.py.
"""

from rich.table import Table

from runtime.observe.accounting import WORK, CycleAccount

__all__ = ["account_table"]


def account_table(account: CycleAccount, *, title: str) -> Table:
    """Return a table with a row for every cause that occurred and a column for every module; the totals are equal."""
    table = Table(title=title, title_justify="left", show_footer=True)
    table.add_column("cause", footer="total")
    for module in account.modules:
        table.add_column(module, justify="right", footer=f"{account.total(module):,}")
    for cause in account.causes:
        cells = (f"{causes.get(cause, 0):,}" for causes in account.modules.values())
        table.add_row(cause, *cells, style="green" if cause == WORK else None)
    return table
