"""Edges hold every start and end of every window, and no more of them than need be."""

from hypothesis import given
from hypothesis import strategies as st

from weft.lang.statements import WindowSpec
from weft.share.nodes import Rate
from weft.share.slicing import cut, distinct_pairs, lies_on, overlap
from weft.share.weave.rates import fine_rate, rate_of
from weft.times import SECOND

windows = st.lists(
    st.builds(WindowSpec, st.integers(1, 40), st.integers(1, 30), st.integers(0, 20)), min_size=1, max_size=5
)


def is_edge(at, edges):
    if edges.grain is not None:
        return at % edges.grain == 0
    return any((at - phase) % slide == 0 for slide, phase in edges.pairs)


@given(windows, st.integers(-50, 50))
def test_every_start_and_end_is_an_edge(specs, number):
    edges = cut(specs)
    for window in specs:
        end = number * window.slide + window.offset
        assert is_edge(end, edges)
        assert is_edge(end - window.range, edges)


@given(windows)
def test_pairs_say_the_same_edges_as_the_windows(specs):
    pairs = distinct_pairs(specs)
    for at in range(200):
        wanted = any(
            (at - w.offset) % w.slide == 0 or (at - w.offset + w.range) % w.slide == 0 for w in specs
        )
        assert any((at - phase) % slide == 0 for slide, phase in pairs) == wanted


def test_two_cuts_a_slide_when_the_range_is_no_multiple_of_it():
    # Krishnamurthy et al.: range 8, slide 5. Ends at multiples of 5, starts 3 before the next one.
    assert distinct_pairs([WindowSpec(8, 5)]) == ((5, 0), (5, 2))


def test_windows_on_a_common_grid_are_cut_uniformly():
    edges = cut([WindowSpec(60 * SECOND, SECOND), WindowSpec(10 * SECOND, 5 * SECOND)])
    assert edges.grain == SECOND
    assert rate_of(edges) == Rate(1.0)


def test_a_common_divisor_that_is_far_too_fine_gives_explicit_edges():
    edges = cut([WindowSpec(3_600 * SECOND + 1, 60 * SECOND)])
    assert edges.grain is None
    assert edges.pairs == ((60 * SECOND, 0), (60 * SECOND, 60 * SECOND - 1))


def test_a_row_stands_in_as_many_windows_as_slides_fit_the_range():
    assert overlap(WindowSpec(60, 1)) == 60
    assert overlap(WindowSpec(8, 5)) == 2
    assert overlap(WindowSpec(5, 8)) == 1


def test_batches_are_cut_evenly_where_edges_are_too_many_for_an_expression():
    odd = [WindowSpec(60 * SECOND + at * 1000, 30 * SECOND + at * 7000) for at in range(12)]
    edges = cut(odd)
    assert (edges.grain, edges.combined) == (1000, True)
    assert fine_rate(edges) == 1000.0
    assert rate_of(edges).value <= sum(SECOND / slide for slide, _ in edges.pairs) < 1


@given(windows)
def test_no_pair_lies_on_another(specs):
    pairs = distinct_pairs(specs)
    assert not any(lies_on(pair, other) for pair in pairs for other in pairs if pair != other)
