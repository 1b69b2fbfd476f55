"""``python -m docs.make_pictures [NAME ...]``: make all pictures of the documentation anew, or those that are named."""

import sys

from docs.make_pictures.sessions import ROOT, SESSIONS, drawn, workplace

FOLDER = ROOT / "docs" / "pictures"


def main(names: list[str]) -> None:
    """Write the pictures."""
    with workplace() as folder:
        for session in SESSIONS:
            if not names or session.name in names:
                path = FOLDER / f"{session.name}.svg"
                path.write_text(drawn(session, folder), encoding="utf-8")
                print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main(sys.argv[1:])
