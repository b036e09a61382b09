"""Events of an auction site after Nexmark, and the windowed ones of its queries; times come from `data`.

Of 50 events 1 is a person, 3 are auctions and 46 are bids, as in Nexmark's generator. Simplified: a row has
just what the windowed queries read, in one table for all three kinds.

    kind INT      0 person, 1 auction, 2 bid
    key BIGINT    the person; the seller of the auction; the auction of the bid
    price BIGINT  of a bid, else 0: 10 ** (6 * uniform) * 100, Nexmark's distribution

Half of the bids go to the hot auction, that is the newest whose number divides by 100; the others to one of
the 100 newest. So do the auctions with their sellers: three in four to the hot one, the others to one of the
1000 newest. Nexmark draws them alike, with other ratios for its options' defaults.
"""

from __future__ import annotations

import numpy as np

PERSONS, AUCTIONS, ROUND = 1, 3, 50  # of each round of events, the rest are bids
HOT = 100
BATCH_OF_AUCTIONS, BATCH_OF_PERSONS = 100, 1000


def columns(order: np.ndarray, random: np.random.Generator) -> dict[str, np.ndarray]:
    """The columns of the events number `order`."""
    rounds, place = order // ROUND, order % ROUND
    kind = np.where(place < PERSONS, 0, np.where(place < PERSONS + AUCTIONS, 1, 2)).astype(np.int32)
    person = rounds
    auction = rounds * AUCTIONS + np.clip(place - PERSONS, 0, AUCTIONS - 1)
    seller = _pick(person, BATCH_OF_PERSONS, random.random(len(order)) < 0.75, random)
    bid_on = _pick(auction, BATCH_OF_AUCTIONS, random.random(len(order)) < 0.5, random)
    price = np.round(10 ** (6 * random.random(len(order))) * 100).astype(np.int64)
    return {
        "kind": kind,
        "key": np.choose(kind, [person, seller, bid_on]),
        "price": np.where(kind == 2, price, 0),
    }


def _pick(newest: np.ndarray, among: int, hot: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """The newest hot one, or any of the `among` newest."""
    back = random.integers(0, among, len(newest))
    return np.where(hot, newest // HOT * HOT, np.maximum(newest - back, 0))
