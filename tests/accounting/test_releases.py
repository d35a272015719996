"""A plan as one list of releases: what follows from it is what scopes and certificates say."""

from __future__ import annotations

import math
from fractions import Fraction as F

import pytest

from dpforest.accounting import (
    BudgetAccountant,
    DiscreteGaussianNoise,
    ExponentialSelection,
    GeometricNoise,
    PermuteAndFlipSelection,
    PrivacyLoss,
)
from dpforest.accounting.certificates import Repeat, certify, epsilon_bound
from dpforest.accounting.losses import NO_LOSS
from dpforest.accounting.releases import (
    Plan,
    Release,
    Round,
    Step,
    lines,
    loss_of,
    n_passes,
    n_steps,
    once,
    repeats,
    scaled,
    scaled_noise,
)

NOISE = DiscreteGaussianNoise(F(4000), F(1))
PICK = ExponentialSelection(F(1, 50), F(2))
SUMS = DiscreteGaussianNoise(F(10**6), F(100))
COUNT = GeometricNoise(F(1, 10), F(1))
FLIP = PermuteAndFlipSelection(F(1, 7), F(1))

PRIOR = once("refitted", Release("prior", NOISE, says="a histogram"))
ROUNDS = Round(
    "refitted",
    (Step((Release("pick", PICK), Release("sums", SUMS, cells=8, says="sums"))),),
    times=20,
)
LIST = (PRIOR, ROUNDS)


def trees(partition: F | None, times: int = 3) -> Round:
    """Two levels, the second without a paid feature, and leaves."""
    steps = (
        Step((Release("feature", PICK, 1, 0), Release("value", FLIP, 1, 0))),
        Step((Release("value", FLIP, 2, 1),)),
        Step((Release("leaf", COUNT, 4, 2),)),
    )
    return Round("trees", steps, times, "tree", partition)


def asked(scope, one: Round) -> None:
    """A round once through, in scopes of the accountant."""
    *structure, last = one.steps
    if one.partition is None:
        sides = scope, scope
    else:
        both = scope.parallel_records("sides", {"a": one.partition, "b": 1 - one.partition})
        sides = both.side("a"), both.side("b")
    for side, steps in zip(sides, (structure, [last]), strict=True):
        for step in steps:
            for release in step.releases:
                side.request(release.event, role=release.role)


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize(
    "rounds",
    [
        (),
        LIST,
        (trees(None),),
        (trees(F(1, 2)),),
        (trees(F(9, 10)),),
        (PRIOR, trees(F(1, 3), 2)),
        (once("none"),),
    ],
)
def test_a_list_costs_what_the_scopes_make_of_it(rounds, adaptive):
    accountant = BudgetAccountant._unlimited()
    reserve = PrivacyLoss(math.inf, math.inf) if adaptive else None
    with accountant.open_scope("plan", reserve, adaptive) as scope:
        for number, one in enumerate(rounds):
            for time in range(one.times):
                asked(scope.sequential(f"{number} {time}"), one)
        assert loss_of(rounds, adaptive) == scope.loss


def test_records_on_sides_cost_less_than_their_sum_and_more_where_it_was_not_fixed():
    apart, together = loss_of((trees(F(1, 2)),)), loss_of((trees(None),))
    assert apart.epsilon < together.epsilon and apart.rho < together.rho
    assert loss_of((trees(F(1, 100)),), adaptive=True).rho >= loss_of((trees(F(1, 100)),)).rho


def test_certificates_take_the_list_in_its_order():
    assert repeats(LIST) == (Repeat((NOISE,)), Repeat((PICK, SUMS), 20))
    apart = Round("a", (Step((Release("x", PICK),)), Step((Release("y", SUMS),))), 2)
    assert repeats((apart,)) == (Repeat((PICK, SUMS), 2),)


@pytest.mark.parametrize(
    "one", [trees(None), trees(F(1, 2)), Round("a", PRIOR.steps, 1, "tree", F(1, 3))]
)
def test_rounds_in_scopes_of_their_own_are_no_list_for_a_certificate(one):
    with pytest.raises(AssertionError, match="scopes of their own"):
        repeats((PRIOR, one))


def test_gaussian_noise_alone_is_scaled_and_never_below_what_was_asked():
    factor = F(10001, 9000)
    listed = (*LIST, trees(None))
    made = scaled(listed, factor)
    events = [[r.event for r in one.releases] for one in made]
    assert events[0] == [scaled_noise(NOISE, factor)] and events[1][0] is PICK
    assert events[1][1] == scaled_noise(SUMS, factor)
    assert made[2] == trees(None)
    for event, before in ((events[0][0], NOISE), (events[1][1], SUMS)):
        assert 0 <= event.sigma_squared / (before.sigma_squared * factor) - 1 < F(1, 2**39)
        assert event.l2_sensitivity_squared == before.l2_sensitivity_squared

    def kept(rounds):
        return [(r.role, r.cells, r.level, r.says) for one in rounds for r in one.releases]

    assert kept(made) == kept(listed)


def test_steps_and_passes_are_counted():
    assert n_steps(LIST) == 21 and n_steps((PRIOR, trees(None, 5))) == 16
    assert n_passes(LIST) == 21
    grown = (PRIOR, trees(None, 5))
    assert n_passes(grown, lambda one: 2) == 1 + 3 * 3
    assert n_passes(grown, lambda one: 100) == 1 + 3
    assert n_passes(LIST, lambda one: 100) == 21  # rounds without a label follow each other


def test_people_read_a_line_a_role():
    shown = lines(Plan((*LIST, trees(None)), None))
    assert [line.name for line in shown] == ["prior", "pick", "sums", "feature", "value", "leaf"]
    assert [line.says for line in shown[:3]] == ["a histogram", "", "sums"]
    assert shown[1].loss == PICK.loss * 20
    assert shown[4].loss == FLIP.loss * 6  # of two levels, in three trees
    assert sum((line.loss for line in shown), NO_LOSS) == loss_of((*LIST, trees(None)))


def test_the_same_role_of_two_learners_is_two_lines():
    shown = lines(Plan((PRIOR, once("rules", Release("prior", COUNT))), None))
    assert [line.name for line in shown] == ["prior", "prior"]
    assert [line.loss for line in shown] == [NOISE.loss, COUNT.loss]


def test_a_plan_says_how_it_is_composed():
    plan = Plan(LIST, "shape", {"composed by": "addition in rho", "rounds": "20"})
    assert plan.describe() == {"composed by": "addition in rho", "rounds": "20"}
    assert plan.loss == loss_of(LIST)
    delta = F(1, 10**6)
    certificate = certify(plan.repeats, epsilon_bound(plan.repeats, delta), delta)
    tight = plan.with_certificate(certificate)
    assert tight.loss == certificate.loss and tight.shape == "shape"
    assert tight.describe() == {"composed by": certificate.method, "rounds": "20"}
    assert plan.with_variances(F(2)).rounds == scaled(LIST, F(2))
