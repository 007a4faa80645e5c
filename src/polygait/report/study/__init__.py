"""A study's tables, figures and page."""
