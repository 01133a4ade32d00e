import pytest

from guideway.sampling.trail import Trail


def test_a_trail_is_the_tokens_that_were_appended():
    trail = Trail([5])
    for token in range(100):
        trail = trail.append(token)
    assert trail.ids.tolist() == [5, *range(100)]
    assert len(trail) == 101


def test_forks_know_nothing_of_one_another():
    trunk = Trail([1, 2])
    branches = [trunk.append(token).append(token) for token in range(5)]
    again = trunk.append(9)
    assert trunk.ids.tolist() == [1, 2]
    assert again.ids.tolist() == [1, 2, 9]
    assert [branch.ids.tolist() for branch in branches] == [[1, 2, t, t] for t in range(5)]


def test_the_tokens_cannot_be_changed_from_outside():
    given = [1, 2]
    trail = Trail(given)
    given[0] = 7
    with pytest.raises(ValueError, match="read-only"):
        trail.ids[0] = 7
    assert trail.append(3).ids.tolist() == [1, 2, 3]
