"""Reading the keys of a configuration file: bad JSON, unknown and missing keys; used by ``isa.config`` alone.

Tests: ``tests/isa/test_config.py``.
"""

import difflib
import json
from collections.abc import Mapping

from isa.config_rules import ConfigError
from isa.limits import MOST_OF_A_CONFIGURATION, nbytes_text
from isa.printable import short

__all__ = ["FIELD_OF_KEY", "arguments_from_mapping", "read_mapping", "require_all_keys"]

FIELD_OF_KEY: Mapping[str, str] = {
    "TARGET": "target",
    "HW_VER": "hw_ver",
    "LOG_INP_WIDTH": "log_inp_width",
    "LOG_WGT_WIDTH": "log_wgt_width",
    "LOG_ACC_WIDTH": "log_acc_width",
    "LOG_BATCH": "log_batch",
    "LOG_BLOCK": "log_block",
    "LOG_BLOCK_IN": "log_block_in",
    "LOG_BLOCK_OUT": "log_block_out",
    "LOG_UOP_BUFF_SIZE": "log_uop_buff_size",
    "LOG_INP_BUFF_SIZE": "log_inp_buff_size",
    "LOG_WGT_BUFF_SIZE": "log_wgt_buff_size",
    "LOG_ACC_BUFF_SIZE": "log_acc_buff_size",
    "DEPTHWISE_TAPS": "depthwise_taps",
    "FUSED_ALU": "fused_alu",
}
"""Key in the file to attribute of ``VTAConfig``."""

OWN_KEYS = ("DEPTHWISE_TAPS", "FUSED_ALU")
"""Keys that upstream does not have: whole numbers, of which 0 is upstream's hardware, and the same as no key."""

_DERIVED: Mapping[str, str] = {
    "LOG_OUT_WIDTH": "outputs have the width of inputs, LOG_INP_WIDTH",
    "LOG_OUT_BUFF_SIZE": "the output buffer is as deep as the accumulator's, LOG_ACC_BUFF_SIZE",
}
"""Keys that older files have and that follow from others."""


def read_mapping(where: str) -> dict[str, object]:
    """Return the one JSON object in the file ``where``; anything else is a ``ConfigError`` that names the file."""
    try:
        with open(where, "rb") as file:
            data = file.read(MOST_OF_A_CONFIGURATION + 1)
        if len(data) > MOST_OF_A_CONFIGURATION:
            size = nbytes_text(MOST_OF_A_CONFIGURATION)
            raise ConfigError(f"expected one JSON object with the configuration keys, found a file of more than {size}")
        text = data.decode("utf-8-sig")  # some editors begin a file with a mark that means UTF-8
        loaded = json.loads(text, object_pairs_hook=_no_duplicates)
    except OSError as error:
        raise ConfigError(f"{where}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{where}: expected JSON in UTF-8, found other bytes") from None
    except json.JSONDecodeError as error:
        place = f"{where}:{error.lineno}:{error.colno}"
        raise ConfigError(f"{place}: not valid JSON: {error.msg}") from None
    except RecursionError:
        raise ConfigError(f"{where}: expected one JSON object with the configuration keys") from None
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
    except ValueError:  # Python's limit on the digits of a number
        raise ConfigError(f"{where}: a number has too many digits") from None
    if not isinstance(loaded, dict):
        raise ConfigError(f"{where}: expected one JSON object with the configuration keys")
    return loaded


def arguments_from_mapping(mapping: Mapping[str, object], *, where: str) -> dict[str, object]:
    """Return the arguments of ``VTAConfig`` for ``mapping``, refusing unknown keys and null."""
    for key in mapping:
        if key not in FIELD_OF_KEY:
            raise ConfigError(f"{where}: {_unknown(key)}")
    for key, value in mapping.items():
        if value is None:
            raise ConfigError(f"{where}: {key} is null, but it must have a value (leave it out instead)")
    return {FIELD_OF_KEY[key]: value for key, value in mapping.items()}


def require_all_keys(mapping: Mapping[str, object], *, where: str) -> None:
    """Raise ``ConfigError`` if a key is missing that may not be left out."""
    optional = {"LOG_BLOCK_IN", "LOG_BLOCK_OUT", *OWN_KEYS}
    if {"LOG_BLOCK_IN", "LOG_BLOCK_OUT"} <= mapping.keys():
        optional.add("LOG_BLOCK")
    missing = [key for key in FIELD_OF_KEY if key not in mapping and key not in optional]
    if missing:
        raise ConfigError(f"{where}: missing {'keys' if missing[1:] else 'key'} {', '.join(missing)}")


def _no_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    mapping: dict[str, object] = {}
    for key, value in pairs:
        if key in mapping:
            raise ConfigError(f"key {short(key)} is given twice")
        mapping[key] = value
    return mapping


def _unknown(key: str) -> str:
    if key in _DERIVED:
        return f"unknown key {short(key)}; leave it out, {_DERIVED[key]}"
    close = difflib.get_close_matches(key.upper(), FIELD_OF_KEY, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"the keys are {', '.join(FIELD_OF_KEY)}"
    return f"unknown key {short(key)}; {hint}"
