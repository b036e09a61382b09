"""Property tests are not timed: the machine that runs them may be busy."""

from hypothesis import settings

settings.register_profile("kernels", deadline=None)
settings.load_profile("kernels")
