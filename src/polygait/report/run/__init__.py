"""A run's page."""
