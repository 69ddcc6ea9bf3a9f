"""Stands in for sklearn.linear_model: the label whose mean is nearest."""

from . import Array


class LogisticRegression:
    def __init__(self, max_iter):
        self.max_iter = max_iter

    def fit(self, x, y):
        groups = {}
        for row, label in zip(x, y):
            groups.setdefault(label, []).append(row[0])
        self.means = {label: sum(values) / len(values) for label, values in groups.items()}
        return self

    def predict(self, x):
        return Array(min(self.means, key=lambda label: abs(self.means[label] - row[0])) for row in x)
