"""Key files."""

from pathlib import Path

import pytest

from vta.rpc.messages.key import KeyFileError, read_key, users_key, write_key


def test_a_written_key_is_read_by_its_owner_alone(tmp_path: Path) -> None:
    write_key(tmp_path / "key")
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert len(read_key(tmp_path / "key")) == 32
    assert read_key(tmp_path / "key") == bytes.fromhex((tmp_path / "key").read_text())


def test_two_keys_are_two(tmp_path: Path) -> None:
    keys = set()
    for number in range(3):
        path = tmp_path / str(number)
        write_key(path)
        keys.add(read_key(path))
    assert len(keys) == 3


def test_a_key_is_not_written_over_a_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("mine")
    with pytest.raises(KeyFileError) as error:
        write_key(tmp_path / "key")
    assert str(error.value) == f"{tmp_path / 'key'}: no key is written: File exists; name a new file"
    assert (tmp_path / "key").read_text() == "mine"


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    write_key(tmp_path / "key")
    (tmp_path / "key").chmod(0o640)
    with pytest.raises(KeyFileError) as error:
        read_key(tmp_path / "key")
    assert str(error.value) == f"{tmp_path / 'key'}: others may read the key (mode 640); chmod 600 it"


@pytest.mark.parametrize("content", [b"", b"xyz", b"\xff", b"ab" * 31, b"abc"])
def test_a_file_without_a_key_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "key"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(KeyFileError) as error:
        read_key(path)
    assert str(error.value) == (
        f"{path}: expected a key of 64 hexadecimal digits; `vta serve --new-key FILE` writes one"
    )


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError) as error:
        read_key(tmp_path / "key")
    assert str(error.value) == f"{tmp_path / 'key'}: the key cannot be read: No such file or directory"


def test_a_users_own_key_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VTA_RPC_KEY_FILE", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    first = users_key()
    assert users_key() == first
    assert (tmp_path / "vta-toolchain" / "rpc.key").stat().st_mode & 0o777 == 0o600


def test_a_variable_names_another_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_key(tmp_path / "key")
    monkeypatch.setenv("VTA_RPC_KEY_FILE", str(tmp_path / "key"))
    assert users_key() == read_key(tmp_path / "key")
