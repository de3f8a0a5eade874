"""Targets: what is checked, and how it is opened."""
