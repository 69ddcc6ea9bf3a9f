"""Stands in for sklearn.datasets: 150 flowers of three kinds."""

from . import Array


def load_iris(return_X_y):
    assert return_X_y
    rows = Array([1.0 + i // 50 + (i % 7) / 10, float(i % 5)] for i in range(150))
    return rows, Array(i // 50 for i in range(150))
