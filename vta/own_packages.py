"""Whether ``isa``, ``hw`` and ``runtime`` are this toolchain's, and not a file of the same name beside a user's script.

Python looks beside the script first (with ``-m``, in the working directory), so a ``runtime.py`` there is imported in
place of the package. This module imports nothing of ours, since that may be what is hidden.

Tests: tests/vta/front/test_own_packages.py.
"""

import importlib
import importlib.util
import os
import sys
from pathlib import Path

__all__ = ["OWN", "ShadowedError", "file_in_the_way", "import_own_packages", "require_own_packages"]

OWN = ("isa", "hw", "runtime")
"""The packages beside ``vta`` that it needs."""


class ShadowedError(ImportError):
    """Something else is imported under the name of a package of this toolchain.

    Not derived from ``isa.errors.VTAError``, which cannot be imported where ``isa`` is the one that is hidden.
    """


def require_own_packages() -> None:
    """Raise ``ShadowedError`` for the first of the packages that is not the one beside ``vta``."""
    home = Path(__file__).resolve().parents[1]
    for name in OWN:
        found = _found(name)
        if found is None:
            raise ShadowedError(f"{home / name}: this package of the toolchain is missing; install vta-toolchain again")
        if os.path.realpath(found) != str(home / name):
            raise ShadowedError(
                f"{found}: Python imports this as {name!r}, which must be the toolchain's own package {home / name}; "
                f"rename it, or move it out of {found.parent}"
            )


def import_own_packages() -> None:
    """Import the packages, so that a script that runs in this process gets them, whatever lies beside it."""
    for name in OWN:
        importlib.import_module(name)


def file_in_the_way(folder: Path) -> Path | None:
    """Return a module or package in ``folder`` that has the name of one of the packages, None if there is none."""
    home = Path(__file__).resolve().parents[1]
    if folder.resolve() == home:
        return None
    candidates = [path for name in OWN for path in (folder / f"{name}.py", folder / name / "__init__.py")]
    return next((_shown(path) for path in candidates if path.is_file()), None)


def _found(name: str) -> Path | None:
    """Return the file of a module or the folder of a package, whether it is imported already or would be now."""
    module = sys.modules.get(name)
    if module is not None:
        origin = getattr(module, "__file__", None)
    else:
        spec = importlib.util.find_spec(name)
        origin = None if spec is None else spec.origin
    return None if origin is None else _shown(Path(origin))


def _shown(file: Path) -> Path:
    return file.parent if file.name == "__init__.py" else file
