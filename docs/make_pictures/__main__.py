"""``python -m docs.make_pictures [NAME ...]``: make all pictures of the documentation anew, or those that are named."""

import sys
from pathlib import Path

from docs.make_pictures.screens import SCREENS
from docs.make_pictures.sessions import PICTURES, ROOT, SESSIONS, drawn, workplace


def main(names: list[str]) -> None:
    """Write the pictures."""
    known = [*(session.name for session in SESSIONS), *SCREENS]
    for name in names:
        if name not in known:
            raise SystemExit(f"error: there is no picture {name}; there are {', '.join(known)}")
    with workplace() as folder:
        for session in SESSIONS:
            if not names or session.name in names:
                _write(PICTURES / f"{session.name}.svg", drawn(session, folder).encode())
        for name, make in SCREENS.items():
            if not names or name in names:
                _write(PICTURES / f"{name}.png", make(folder))


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    print(f"{path.relative_to(ROOT)}: {len(data) // 1024} KiB")


if __name__ == "__main__":
    main(sys.argv[1:])
