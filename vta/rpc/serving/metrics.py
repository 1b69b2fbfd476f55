"""Counters of a server, and the page that Prometheus reads.

The page is plain text over HTTP on a port of loopback; it names no client. Tests: tests/vta/rpc/test_hostile.py.
"""

import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from vta.rpc.errors import RpcError

__all__ = ["Metrics", "serve_metrics"]


class Metrics:
    """Numbers by name: those that only grow, and those that are as they are now."""

    def __init__(self, service: str, counters: Mapping[str, str], gauges: Mapping[str, str]) -> None:
        self._service = service
        self._help = {**counters, **gauges}
        self._counters = dict.fromkeys(counters, 0.0)
        self._gauges = dict.fromkeys(gauges, 0.0)
        self._lock = threading.Lock()

    def count(self, name: str, amount: float = 1) -> None:
        """Add to a counter."""
        with self._lock:
            self._counters[name] += amount

    def set(self, name: str, value: float) -> None:
        """Say how a number is now."""
        with self._lock:
            if name not in self._gauges:
                raise KeyError(name)
            self._gauges[name] = value

    def value(self, name: str) -> float:
        """Return a number."""
        return {**self._counters, **self._gauges}[name]

    def text(self) -> str:
        """Return the page."""
        lines = []
        with self._lock:
            for kind, numbers in (("counter", self._counters), ("gauge", self._gauges)):
                for name, value in numbers.items():
                    full = f"vta_{self._service}_{name}" + ("_total" if kind == "counter" else "")
                    lines += [f"# HELP {full} {self._help[name]}", f"# TYPE {full} {kind}", f"{full} {value:g}"]
        return "\n".join(lines) + "\n"


def serve_metrics(metrics: Metrics, port: int) -> ThreadingHTTPServer:
    """Serve the page on a port of loopback (0: a free one) until the returned server is shut down."""

    class Page(BaseHTTPRequestHandler):
        timeout = 5

        def do_GET(self) -> None:
            body = metrics.text().encode()
            known = self.path in ("/metrics", "/")
            self.send_response(200 if known else 404)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body) if known else 0))
            self.end_headers()
            if known:
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing: the journal is for what clients do."""

    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), Page)
    except (OSError, OverflowError) as error:
        raise RpcError(
            f"no metrics on 127.0.0.1:{port}: {getattr(error, 'strerror', None) or error}; choose another port"
        ) from None
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return server
