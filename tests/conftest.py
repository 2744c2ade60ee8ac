from hypothesis import HealthCheck, settings

# The same examples on every run, and no clock: these machines are noisy.
settings.register_profile(
    "softbandit", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=60
)
settings.load_profile("softbandit")
