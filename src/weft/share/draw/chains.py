"""The chains of joins as bands: for how long the rows of either side are held, and who wants them."""

from __future__ import annotations

from weft.plan.shownparts import show_for
from weft.share.draw.svg import box, text
from weft.share.nodes import SharedPlan
from weft.share.relations.links import Chain, Link
from weft.share.relations.program import woven
from weft.share.relations.showchains import show_chain_on
from weft.share.relations.slices import Slice, slices

ROW, LEFT, BAR, RIGHT = 20.0, 12.0, 550.0, 1190.0


def draw_relations(plan: SharedPlan, y: float) -> tuple[list[str], float]:
    """A block for each chain, and where the last ends."""
    found = woven(plan)
    count = len(found.tops)
    shapes = [text(LEFT, y + 18, f"relations: {count} {'query' if count == 1 else 'queries'}", bold=True)]
    y += 2 * ROW
    for at, (chain, links) in enumerate(found.chains_as_written.items()):
        title = f"c{at}: {chain.left} and {chain.right} on {show_chain_on(chain.on)}"
        shapes.append(text(LEFT, y + 14, title, room=RIGHT - LEFT))
        y += ROW
        bands = _bands(chain, links)
        longest = max((one.range or 0 for _, one in bands), default=0)
        for stream, one in bands:
            shapes += _band(stream, one, longest, y)
            y += ROW
        y += ROW
    return shapes, y


def _bands(chain: Chain, links: dict[Link, tuple[str, ...]]) -> list[tuple[str, Slice]]:
    left = slices({link: link.left for link in links}, links, ())
    right = slices({link: link.right for link in links}, links, ())
    return [*((chain.left, one) for one in left), *((chain.right, one) for one in right)]


def _band(stream: str, one: Slice, longest: int, y: float) -> list[str]:
    """A bar as long as rows are held; those that are held for ever fill it."""
    part = 1.0 if one.range is None or not longest else one.range / longest
    who = one.queries[0] if len(one.queries) == 1 else f"{len(one.queries)} queries"
    width = max(2.0, part * (RIGHT - BAR))
    label = text(LEFT + 20, y + 14, f"{stream} {show_for(one.range)}: {who}", room=BAR - LEFT - 40)
    return [label, box(RIGHT - width, y + 3, width, ROW - 6)]
