"""The loop: from models and constraints to tokens.

    row/                    one row: its request, position in the constraint, tokens, trace
    ensemble/               an expression over models: prompts, prefix cache, alignment of ids
    step                    one step of a batch: forward, expression, mask, warp, draw, take
    draw, penalties, marking
                            the stages of a step
    loop                    steps until all rows have ended; calls at the same time share forwards
    scheduling, paged       rows that join and leave between steps, with masks made before a step
    drafts, draft_model, heads, speculation
                            drafted tokens, which one forward verifies
    captured                whole steps captured on a device
    score                   probabilities of given texts
    limits, stopping        checks before, cancellation

The noise of a row depends on its seed, its number and the step, not on the batch around it.
"""

from guideway.extras import require

require("torch", "guideway.generation")
