"""A dask cluster of this computer for tests: a scheduler and two workers, processes of their own."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

__all__ = ["local_cluster"]


@contextmanager
def local_cluster(workers: int = 2) -> Iterator[Any]:
    """Start a cluster, whose ``scheduler_address`` is on loopback, and end it."""
    cluster = import_module("distributed").LocalCluster(  # by name: its types would have to be trusted
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", host="127.0.0.1"
    )
    try:
        yield cluster
    finally:
        cluster.close()
