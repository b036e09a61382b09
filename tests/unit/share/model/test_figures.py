"""Numbers as they are shown: two digits, and a unit."""

from __future__ import annotations

import pytest

from weft.share.model.figures import against, counted, cpu, plain, share


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (27.4, "27 s"),
        (0.3449, "340 ms"),
        (0.9999, "1 s"),
        (4.24e-6, "4.2 µs"),
        (0.0, "0 s"),
        (1234.0, "1,200 s"),
    ],
)
def test_cpu_time(seconds, text):
    assert cpu(seconds) == text


@pytest.mark.parametrize(
    ("number", "text"), [(0.0, "0"), (0.344, "0.34"), (7.0, "7"), (99.6, "100"), (1e7, "10,000,000")]
)
def test_plain_numbers(number, text):
    assert plain(number) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (1 / 3, "0.3333"),
        (12, "12"),
        (1234.5, "1,234"),
        (1e6, "1,000,000"),
        (123_456_789_012_345, "123,456,789,012,345"),
        (12_096_000_000_000_068, "12,096 trillion"),
    ],
)
def test_counts_are_written_out_until_nobody_can_read_them(number, text):
    assert counted(number) == text


def test_parts_of_a_whole():
    assert [share(part, 10.0) for part in (0.0, 0.001, 0.31, 10.0)] == [
        "0 %",
        "below 0.1 %",
        "3.1 %",
        "100 %",
    ]


def test_a_cost_beside_another():
    assert [against(cost, 1.0) for cost in (79.4, 1.12, 1.001, 0.9)] == [
        "79 times more",
        "12 % more",
        "the same",
        "10 % less",
    ]
