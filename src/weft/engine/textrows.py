"""Answers as text: JSON lines and CSV, whole columns at a time.

Values are written as Spark writes and reads them: timestamps in ISO 8601 with microseconds, decimals with all
their digits, NaN and the infinities as the texts "NaN", "Infinity" and "-Infinity", binary as base64.
"""

from __future__ import annotations

import base64
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from weft.kernels.arrow import whole

_ESCAPES = (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"))
_CONTROL = [chr(code) for code in range(0x20) if chr(code) not in "\n\r\t"]


def json_lines(table: Any) -> bytes:
    """One JSON object a line, null fields included."""
    if not table.num_rows:
        return b""
    rows = _object([pc.cast(_json(whole(column)), pa.string()) for column in table.columns], table.schema)
    return ("\n".join(rows.to_pylist()) + "\n").encode()


def csv_lines(table: Any, header: bool, separator: str) -> bytes:
    """CSV: texts in quotes, null as nothing, so that it differs from an empty text."""
    columns = [_csv(whole(column)) for column in table.columns]
    out = pa.BufferOutputStream()
    options = pa_csv.WriteOptions(include_header=header, delimiter=separator)
    pa_csv.write_csv(pa.table(columns, names=table.schema.names), out, options)
    return bytes(out.getvalue())


def _csv(values: Any) -> Any:
    kind = values.type
    if pa.types.is_timestamp(kind):
        return _instants(values)
    if pa.types.is_floating(kind):
        return _numbers(values, quote="") if _has_special(values) else values
    if pa.types.is_nested(kind):
        return pc.if_else(pc.is_valid(values), _json(values), None)
    return _base64(values) if _is_binary(kind) else values


def _json(values: Any) -> Any:
    """Each value as JSON text."""
    kind = values.type
    if pa.types.is_struct(kind):
        fields = [_json(field) for field in values.flatten()]
        return _nulls(_object(fields, kind), values)
    if pa.types.is_map(kind):
        pairs = _joined([_quoted(pc.cast(values.keys, pa.string())), ":", _json(values.items)])
        return _nulls(_joined(["{", _join_lists(values, pairs), "}"]), values)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _nulls(_joined(["[", _join_lists(values, _json(values.values)), "]"]), values)
    return _nulls(_scalars(values), values)


def _scalars(values: Any) -> Any:
    kind = values.type
    if pa.types.is_null(kind):
        return pa.nulls(len(values), pa.string())
    if pa.types.is_floating(kind):
        return _numbers(values, quote='"')
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_boolean(kind):
        return pc.cast(values, pa.string())
    if pa.types.is_timestamp(kind):
        return _quoted(_instants(values))
    return _quoted(_base64(values) if _is_binary(kind) else pc.cast(values, pa.string()))


def _nulls(texts: Any, values: Any) -> Any:
    return pc.if_else(pc.is_valid(values), pc.fill_null(texts, "null"), "null")


def _object(fields: list[Any], names: Any) -> Any:
    parts: list[Any] = ["{"]
    for at, field in enumerate(fields):
        name = _quoted(pa.array([names.field(at).name]))[0].as_py()
        parts += [f"{', ' if at else ''}{name}: ", field]
    return _joined([*parts, "}"])


def _joined(parts: list[Any]) -> Any:
    return pc.binary_join_element_wise(*parts, "")


def _join_lists(lists: Any, texts: Any) -> Any:
    """The texts of each list, with commas; `texts` stands for the elements of the lists, in their buffer."""
    plain = pa.ListArray.from_arrays(pc.cast(lists.offsets, pa.int32()), texts)
    return pc.binary_join(plain, ",")


def _quoted(texts: Any) -> Any:
    for char, escape in _ESCAPES:
        texts = pc.replace_substring(texts, char, escape)
    if pc.any(pc.match_substring_regex(texts, "[\\x00-\\x1f]")).as_py():
        for char in _CONTROL:
            texts = pc.replace_substring(texts, char, f"\\u{ord(char):04x}")
    return _joined(['"', texts, '"'])


def _numbers(values: Any, quote: str) -> Any:
    """Floating numbers, always with a point or an exponent, so that no reader takes them for integers."""
    texts = pc.cast(values, pa.string())
    bare = pc.match_substring_regex(texts, "^-?[0-9]+$")
    texts = pc.if_else(bare, _joined([texts, ".0"]), texts)
    for special, name in (("nan", "NaN"), ("-nan", "NaN"), ("inf", "Infinity"), ("-inf", "-Infinity")):
        texts = pc.if_else(pc.equal(texts, special), f"{quote}{name}{quote}", texts)
    return texts


def _has_special(values: Any) -> bool:
    return not bool(pc.all(pc.is_finite(values), min_count=0).as_py())


def _instants(values: Any) -> Any:
    micros = pc.cast(values, pa.timestamp("us", values.type.tz), safe=False)
    return pc.replace_substring(pc.cast(micros, pa.string()), " ", "T", max_replacements=1)


def _is_binary(kind: Any) -> bool:
    return bool(
        pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
    )


def _base64(values: Any) -> Any:
    # Arrow has no kernel for it; binary columns in answers are rare.
    texts = (None if value is None else base64.b64encode(value).decode() for value in values.to_pylist())
    return pa.array(texts, pa.string())
