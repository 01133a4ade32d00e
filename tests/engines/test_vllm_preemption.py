"""Requests that vLLM preempts and resumes, because their keys and values have no room."""

from engines.vllm_requests import apart, asked, check, crowded, free, texts


def test_preempted_requests_go_on_where_they_were():
    """Both ways and free rows; the constraint of a resumed request has read all its tokens."""
    ways = ["V1", "backend"] * 6
    params = [asked("long", way, seed=n) for n, way in enumerate(ways)]
    outputs, preempted = apart(crowded, [*params, free(0)])
    assert preempted > 0
    for output in outputs[:-1]:
        check("long", output.outputs[0])
    assert texts(outputs[-1:])[0]
