"""The times of versions: of those that were made here, as long as they are remembered."""

from ps_node.moments import KEPT, Moments


def test_a_version_has_the_time_at_which_it_was_made() -> None:
    moments = Moments()
    for version, now in ((0, 10.0), (1, 11.0), (1, 12.0), (2, 14.0)):
        moments.see(version, now)
    assert [moments.since(version, 15.0) for version in (0, 1, 2, 3)] == [None, 4.0, 1.0, None]


def test_versions_of_a_cut_have_none() -> None:
    moments = Moments()
    moments.see(700, 1.0)
    moments.see(701, 2.0)
    assert [moments.since(version, 5.0) for version in (699, 700, 701)] == [None, None, 3.0]


def test_the_oldest_are_forgotten() -> None:
    moments = Moments()
    for version in range(KEPT + 10):
        moments.see(version, float(version))
    assert [moments.since(version, KEPT + 10.0) for version in (9, 10)] == [None, float(KEPT)]
