"""What was measured, a line of JSON each, on disk before anything else is asked for: a killed run goes on from it.

A line has the digest of what was measured, and the answer. A torn last line is dropped.
Tests: tests/vta/explore/test_study.py.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

from vta.explore.measure import Request
from vta.explore.sweep import ExploreError

__all__ = ["Log", "digest_of"]

_VERSION = 1


def digest_of(request: Request) -> str:
    """Return sixteen hex digits over everything that decides the answer, sources of the toolchain aside."""
    point, workload = request.point, request.workload
    assert point.config is not None
    assert point.setup is not None
    text = f"{_VERSION}\n{point.config.digest}\n{point.setup!r}\n{request.wanted}\n"
    if request.wanted in ("predicted", "tsim"):
        model = workload.model.read_bytes() if workload.model is not None else b""
        text += f"{workload.layers!r}\n{hashlib.sha256(model).hexdigest()}"
    if request.wanted == "fmax":
        text += request.device
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Log:
    """Answers by digest, in a file that grows, or in memory alone without one."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self.answers: dict[str, Mapping[str, object]] = {}
        if path is not None and path.exists():
            self._read(path)

    def _read(self, path: Path) -> None:
        lines = path.read_bytes().split(b"\n")
        whole, torn = lines[:-1], lines[-1]
        for number, line in enumerate(whole, 1):
            try:
                entry = json.loads(line)
                self.answers[entry["digest"]] = entry["answer"]
            except (ValueError, KeyError, TypeError):
                raise ExploreError(
                    f"{path}:{number}: expected a line that vta explore wrote, found something else; "
                    "name another file, or remove that line"
                ) from None
        if torn:  # the run was killed while it wrote
            with path.open("r+b") as file:
                file.truncate(len(b"\n".join(whole)) + 1 if whole else 0)

    def keep(self, digest: str, name: str, wanted: str, answer: Mapping[str, object]) -> None:
        """Keep an answer; it is on disk when this returns."""
        self.answers[digest] = answer
        if self._path is None:
            return
        line = json.dumps({"digest": digest, "point": name, "wanted": wanted, "answer": answer})
        with self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())
