"""Fewer examples for laws whose every example is costly; the nightly profile still sees more."""

from hypothesis import HealthCheck, settings


def one_in(share: int) -> settings:
    """Settings for one of `share` examples of the profile's."""
    return settings(
        max_examples=max(1, settings().max_examples // share),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
