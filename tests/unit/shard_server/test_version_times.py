"""The times of versions: of those that were made here, as long as they are remembered."""

from gradstream.shard_server.version_times import KEPT, VersionTimes


def test_a_version_has_the_time_at_which_it_was_made() -> None:
    times = VersionTimes()
    for version, now in ((0, 10.0), (1, 11.0), (1, 12.0), (2, 14.0)):
        times.see(version, now)
    assert [times.since(version, 15.0) for version in (0, 1, 2, 3)] == [None, 4.0, 1.0, None]


def test_versions_of_a_checkpoint_have_none() -> None:
    times = VersionTimes()
    times.see(700, 1.0)
    times.see(701, 2.0)
    assert [times.since(version, 5.0) for version in (699, 700, 701)] == [None, None, 3.0]


def test_the_oldest_are_forgotten() -> None:
    times = VersionTimes()
    for version in range(KEPT + 10):
        times.see(version, float(version))
    assert [times.since(version, KEPT + 10.0) for version in (9, 10)] == [None, float(KEPT)]
