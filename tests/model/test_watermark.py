"""A soft watermark on the real model and real prompts, as published: how often it is found."""

import pytest

import guideway as gw
from benchmarks.watermark import KEY, by_chance, of_prose, wilson
from benchmarks.watermark_texts import Marked, Plan, pieces, read_texts


@pytest.mark.model
@pytest.mark.slow
def test_of_sixty_marked_texts_nearly_all_are_found_and_of_unmarked_ones_none(
    built_in: gw.Model,
) -> None:
    corpus = read_texts([])
    mark = gw.Watermark(key=KEY, gamma=0.5, delta=2.0, stage="logits")
    plan = Plan("smollm2-135m", "float32", 60, 200, 0.7, 60, corpus, records=False)
    size = {"min_new_tokens": 201, "max_new_tokens": 201}
    settings = [gw.Sampling(seed=n, temperature=0.7, **size) for n in range(60)]
    prompts = plan.prompts(built_in)[:60]
    results = built_in.watermarked(mark).generate(prompts, sampling=settings)
    marked = [Marked(list(each.tokens), each.text, 1.0) for each in results]
    once, text, every = of_prose(built_in, mark, marked)
    low, high = wilson(every["found"], 60)
    assert low <= 0.984 <= high or low > 0.984
    assert once["found"] >= 50
    assert text["found"] >= 50
    human = [mark.detect(each) for each in pieces(built_in, [corpus], 200)]
    assert sum(each.z > 4 for each in human) <= 1
    assert (by_chance(human) or 0) < 0.1
