"""What all tests share: compiled programs, and how they are compiled."""

import os

import jax
import jaxtyping
import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Keep compiled programs from test to test, process to process and run to run; it changes no bit."""
    cache = getattr(config, "cache", None)  # absent where the plugin is switched off
    settings = {
        "jax_compilation_cache_dir": str(cache.mkdir("compiled")) if cache else None,
        "jax_persistent_cache_min_compile_time_secs": 0,
    }
    for name, value in settings.items():
        if value is not None:
            jax.config.update(name, value)
            os.environ[name.upper()] = str(value)


@pytest.fixture(scope="module")
def quick_compilation():
    """Compile with few optimisations: tiny programs run once take longer to optimise than to run."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


@pytest.fixture
def unchecked_annotations():
    """Call functions as users do: nothing looks at the types of arguments before the function itself."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
