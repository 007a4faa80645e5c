"""What several tests of diversity share."""

import jax
import pytest


@pytest.fixture(scope="module")
def quick_compilation():
    """Compile with few optimisations: tiny programs run once take longer to optimise than to run."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)
