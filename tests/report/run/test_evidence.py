"""Every statement of a page has one source, the strongest, and names it."""

from typing import Any

import pytest
from tests.report.run.measured import keep_adaptation, keep_evaluation, row, weights

from polygait.report.run.evidence import (
    Present,
    adaptation_source,
    kept_adaptations,
    measured_cells,
    nominal_scores,
)
from polygait.report.run.findings import gather
from polygait.report.web.parts import Gap

EVALUATED = "evaluation of suite {} ({} episodes each, seed {})"


@pytest.fixture
def folder(tmp_path):
    """Where a run would be; only its results are read here."""
    return tmp_path


def cells(folder):
    known = {member: weights(member) for member in range(5)}
    return {
        (cell["variation"], cell["member"]): (cell["mean_return"], cell["source"])
        for cell in measured_cells(folder, Present(known, None), [])
    }


def test_members_are_compared_within_one_evaluation(folder):
    """Member 1 has more episodes elsewhere, but from other starts."""
    few = [row(member, "broken-foot", 10.0 * member) for member in range(5)]
    keep_evaluation(folder, "damage", [*few, row(1, "broken-foot", 999.0, episodes=9, seed=3)])
    source = EVALUATED.format("damage", 5, 0)
    assert cells(folder) == {("broken-foot", member): (10.0 * member, source) for member in range(5)}


def test_the_strongest_evaluation_counts(folder):
    """The one with more episodes, of equals the first seed, however they lie in the files."""
    rows = [
        row(member, "broken-foot", mean, episodes=episodes, seed=seed)
        for mean, episodes, seed in ((1.0, 5, 0), (2.0, 20, 7), (3.0, 20, 1), (4.0, 20, 2))
        for member in range(5)
    ]
    keep_evaluation(folder, "damage", rows)
    keep_evaluation(folder, "mine", [row(member, "broken-foot", 9.0, episodes=6) for member in range(5)])
    assert set(cells(folder).values()) == {(3.0, EVALUATED.format("damage", 20, 1))}


def test_a_sweep_has_one_source(folder):
    longer = row(0, "foot-mass", 9.0, scale=0.5, episodes=50)
    whole = [row(0, "foot-mass", 1.0, scale=one) for one in (0.5, 1.0, 1.5)]
    keep_evaluation(folder, "dynamics", [longer, *whole])
    found = cells(folder)
    assert len(found) == 3 and set(found.values()) == {(1.0, EVALUATED.format("dynamics", 5, 0))}


def test_what_was_measured_of_other_members_is_left_out(folder):
    keep_evaluation(folder, "mine", [row(0, "broken-foot", 1.0), row(1, "broken-foot", 9.0, weights="other")])
    assert list(cells(folder)) == [("broken-foot", 0)]


def strongest(folder):
    return adaptation_source(kept_adaptations(folder, Present({}, None), [])[0])


def test_the_strongest_adaptation_counts(folder):
    keep_adaptation(folder, "broken-foot", [[9.0]] * 5, best=4, held_out=20)
    assert strongest(folder) == "exhaustive adaptation (1 episode each, seed 0)"
    keep_adaptation(folder, "broken-foot", [[8.0] * 3] * 5, best=2, seed=4)
    keep_adaptation(folder, "broken-foot", [[8.0] * 9] * 3, best=2, seed=5)  # before there were five members
    assert strongest(folder) == "exhaustive adaptation (3 episodes each, seed 4)"
    keep_adaptation(folder, "broken-foot", [[8.0] * 3] * 5, best=2, seed=6, held_out=2)
    assert strongest(folder) == "exhaustive adaptation (3 episodes each, seed 6)"
    assert len(kept_adaptations(folder, Present({}, None), [])) == 4


def test_a_race_is_named_with_its_options(folder):
    race: dict[str, Any] = {"selector": "racing", "episodes": None, "trials": 4, "max_falls": 1}
    keep_adaptation(folder, "broken-foot", [[1.0, None], [3.0, 4.0]], best=1, **race)
    assert strongest(folder) == "racing adaptation (3 of 4 trials, at most 1 fall, seed 0)"


def test_an_adaptation_of_other_members_is_left_out_and_told(folder):
    keep_adaptation(folder, "broken-foot", [[1.0], [2.0]], best=1, weights=["a", "b"])
    gaps: list[Gap] = []
    assert len(kept_adaptations(folder, Present({0: "a", 1: "b", 2: "c"}, None), gaps)) == 1 and not gaps
    assert not kept_adaptations(folder, Present({0: "a", 1: "other"}, None), gaps)
    assert [gap.why for gap in gaps] == ["it was made with other members"]


def test_the_best_when_nothing_is_wrong_is_that_of_the_evaluation(run):
    bare = gather(run)
    assert bare.best == 1 and bare.nominal.source == "the end of training (10 episodes each)"
    keep_evaluation(run, "damage", [row(one, "nominal", 50.0 if one == 3 else 40.0) for one in range(5)])
    findings = gather(run)
    assert findings.best == 3 and findings.nominal.scores[3][:3] == (50.0, 1.0, 0.2)
    assert findings.nominal.source == EVALUATED.format("damage", 5, 0)
    some = nominal_scores(findings.entries, findings.cells[:4], {0, 1, 2, 3, 4})
    assert some.source == bare.nominal.source and some.best == 1  # the fifth was not measured
    damaged = nominal_scores(findings.entries, findings.cells[:4], {0, 1, 2, 3})  # and cannot be
    assert set(damaged.scores) == {0, 1, 2, 3} and damaged.best == 3
    uneven = [cell | {"episodes": cell["member"]} for cell in findings.cells]  # as a race leaves them
    assert nominal_scores(findings.entries, uneven, set()).source == bare.nominal.source
