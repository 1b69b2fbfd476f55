"""Certificates for tests, made by openssl; without it a test is skipped."""

import subprocess
from pathlib import Path

import pytest


def made_certificate(folder: Path) -> tuple[Path, Path]:
    """Return a new certificate that signs itself, and its key."""
    certificate, key = folder / "server.pem", folder / "key.pem"
    command = [
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
        "-subj", "/CN=device", "-keyout", str(key), "-out", str(certificate),
    ]  # fmt: skip
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("openssl makes no certificate here")
    return certificate, key
