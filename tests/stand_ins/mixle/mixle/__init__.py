"""Stands in for mixle."""
