"""Sequential Monte Carlo: the critic, the population, the settings of particles."""

import math
from collections import Counter
from typing import Any

import pytest

import guideway as gw
from guideway.generation.row.request import Population
from guideway.generation.row.result import Result
from guideway.models.fake import FakeModel
from guideway.search.draws import log_mean
from open_law import open_law, shares
from whole_batches import search

BITS = gw.Vocabulary([b"0", b"1", b"<eos>"], eos_ids={2})
MODEL = FakeModel.random(BITS, 4)


def particles(model: FakeModel, pattern: str | None, count: int, **more: Any) -> list[Result]:
    source = None if pattern is None else gw.Regex(pattern)
    return search(model, source, exactness="smc", particles=count, seed=2, **more)


def population(found: list[Result]) -> Population:
    assert found[0].population is not None
    return found[0].population


def ones(text: str) -> float:
    """A critic that likes ones, and has no opinion of short texts."""
    return 1.5 * text.count("1") if len(text) > 1 else 0.0


def test_a_critic_weighs_whole_texts_whatever_it_said_of_their_beginnings():
    found = particles(MODEL, "[01]{3}", 800, num_return_sequences=800, critic=ones)
    law = {
        tokens: p * math.exp(1.5 * sum(tokens))
        for tokens, p in open_law(MODEL, {f"{n:03b}".encode() for n in range(8)}).items()
    }
    counts = Counter(done.tokens for done in found)
    for tokens, p in shares(law).items():
        assert abs(counts[tokens] / 800 - p) < 2 * 3 * math.sqrt(p * (1 - p) / 800)
    plain = shares(open_law(MODEL, {f"{n:03b}".encode() for n in range(8)}))
    assert abs(counts[(1, 1, 1)] / 800 - plain[(1, 1, 1)]) > 0.2
    assert population(found).log_evidence == pytest.approx(
        math.log(math.fsum(law.values())), abs=0.15
    )


def test_a_critic_reads_whole_characters_and_each_text_once():
    vocabulary = gw.Vocabulary([*("é€".encode()[n : n + 1] for n in range(5)), b"<eos>"], {5})
    read = list[str]()

    def critic(text: str) -> float:
        read.append(text)
        return 0.0

    model = FakeModel(vocabulary, lambda prefix: [0.0] * 6)
    found = particles(model, "€é€", 1, critic=critic)
    assert found[0].text == "€é€"
    assert read == ["€", "€é", "€é€"]


def test_the_population_says_what_the_texts_are_drawn_from():
    found = particles(MODEL, "[01]{2,5}1", 12, num_return_sequences=30, resample_below=0)
    made = population(found)
    assert len(found) == 30
    assert len(made.particles) == 12
    assert {done.text for done in found} <= {one.text for one in made.particles}
    logs = [one.log_weight for one in made.particles]
    assert made.log_evidence == pytest.approx(log_mean(logs))
    weights = [math.exp(log) for log in logs]
    size = sum(weights) ** 2 / sum(w * w for w in weights)
    assert made.effective_sample_size == pytest.approx(size)
    # Never resampled: a weight is the probability of all that was allowed on the way.
    told = {one.tokens: one.log_weight for one in made.particles}
    for done in found:
        assert told[done.tokens] == pytest.approx(done.log_z, abs=1e-5)


def test_particles_are_resampled_where_their_effective_number_is_low():
    every = population(particles(MODEL, "[01]{6}", 16, resample_below=1))
    never = population(particles(MODEL, "[01]{6}", 16, resample_below=0))
    assert every.effective_sample_size > never.effective_sample_size
    assert len({one.log_weight for one in every.particles}) < 16


def test_lowering_every_weight_changes_no_draw():
    alike = [
        particles(MODEL, "[01]{5}", 9, num_return_sequences=9, critic=lambda text, low=low: low)
        for low in (0.0, -500.0)
    ]
    assert [done.tokens for done in alike[0]] == [done.tokens for done in alike[1]]
    evidence = [population(found).log_evidence for found in alike]
    assert evidence[1] == pytest.approx(evidence[0] - 500)


def raising(text: str) -> float:
    raise KeyError(text)


@pytest.mark.parametrize(
    ("critic", "error", "message"),
    [
        *(
            (lambda text, value=value: value, gw.ModelError, r"the critic gave .* for '[01]'")
            for value in (math.nan, math.inf, "3", None, 10**400)
        ),
        (raising, gw.ModelError, r"the critic raised KeyError for '[01]'"),
        (lambda text: -math.inf, gw.DeadEndError, "none of 3 particles is left at step 0"),
    ],
)
def test_a_critic_that_gives_no_number_or_likes_nothing_is_refused(
    critic: Any, error: Any, message: str
):
    with pytest.raises(error, match=message):
        particles(MODEL, "[01]{2}", 3, critic=critic)


def test_a_critic_judges_the_empty_text_and_free_text_and_stop_strings_end_particles():
    model = FakeModel(BITS, lambda prefix: [0.0, 0.0, 0.0])
    many = {"num_return_sequences": 100}
    found = particles(model, "1?", 100, critic=lambda text: 0.0 if text else -50.0, **many)
    assert {done.text for done in found} == {"1"}
    zeros = particles(
        model, None, 200, max_new_tokens=3, critic=lambda t: -math.inf if "1" in t else 0.0, **many
    )
    assert {done.text for done in zeros} == {"", "0", "00", "000"}
    stopped = particles(model, "1*", 9, stop="1", critic=lambda text: -3.0 if not text else 0.0)
    assert population(stopped).log_evidence < -3
    found = particles(MODEL, "[01]*", 20, num_return_sequences=20, stop="11", max_new_tokens=12)
    assert all("11" not in done.text for done in found)
    assert any(done.tokens[-2:] == (1, 1) for done in found)
