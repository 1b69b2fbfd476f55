"""The device's counters at the end of a run. Tests: tests/vta/cli/test_script_commands.py."""

from runtime.observe.stats import Statistics
from vta.cli.account import account_table
from vta.cli.reporting import stats_table
from vta.cli.style import Screen

__all__ = ["print_statistics", "statistics_objects"]


def print_statistics(statistics: Statistics) -> None:
    """Print the counters and, where there is a clock, what each module spent its cycles on."""
    console = Screen()
    console.print(stats_table(statistics.as_dict(), title="statistics of the run"))
    if statistics.account is not None:
        console.print(account_table(statistics.account, title="cycles by module and cause"))


def statistics_objects(statistics: Statistics) -> dict[str, object]:
    """Return what ``--json`` says of them."""
    account = statistics.account
    modules = None if account is None else {module: dict(causes) for module, causes in account.modules.items()}
    return {"statistics": statistics.as_dict(), "account": modules}
