"""Random GROUP BYs with grouping sets, in all ways to write them."""

from __future__ import annotations

from random import Random


def grouped_by(rng: Random, keys: list[str]) -> str:
    """What stands behind GROUP BY: each of the keys in some set."""
    first, rest = keys[:1], keys[1:]
    ways = [
        f"ROLLUP ({', '.join(keys)})",
        f"CUBE ({', '.join(keys)})",
        f"{', '.join(keys)} WITH {rng.choice(['ROLLUP', 'CUBE'])}",
        f"GROUPING SETS ({', '.join(_sets(rng, keys))})",
        f"GROUPING SETS ({', '.join([*_sets(rng, keys), f'ROLLUP ({keys[-1]})'])})",
    ]
    if rest:
        ways += [
            f"{first[0]}, {rng.choice(['ROLLUP', 'CUBE'])} ({', '.join(rest)})",
            f"ROLLUP ({first[0]}), CUBE ({', '.join(rest)})",
            f"ROLLUP (({', '.join(keys)}), {keys[0]})",
        ]
    return rng.choice(ways)


def _sets(rng: Random, keys: list[str]) -> list[str]:
    """Sets of some of the keys, in any order, now and then twice; one has all of them."""
    chosen = [rng.sample(keys, rng.randint(0, len(keys))) for _ in range(rng.randint(0, 3))]
    chosen += [rng.sample(keys, len(keys)), *chosen[: rng.choice([0, 0, 1])]]
    rng.shuffle(chosen)
    return [f"({', '.join(each)})" for each in chosen]


def told_by(rng: Random, keys: list[str]) -> list[str]:
    """Columns that tell the set of an answer."""
    some = [f"GROUPING({key}) AS b{at}" for at, key in enumerate(keys) if rng.random() < 0.5]
    return [*some, *(["GROUPING_ID() AS id"] if rng.random() < 0.7 else [])]
