"""Measures prediction sets with scikit-learn and numpy, and compares with gate reports.

Usage: gate_sklearn.py FOLDER. FOLDER has a folder for each set with predictions.jsonl, profile.json and report.json.
Prints how many values agreed; exits 1 at the first that does not. Shares no code with proofmark.
"""

import json
import math
import pathlib
import re
import sys
from fractions import Fraction

import numpy as np
from sklearn.metrics import confusion_matrix, f1_score, precision_recall_fscore_support, precision_score

TOLERANCE = 1e-12
compared = 0


def agree(what, ours, theirs):
    global compared
    compared += 1
    if theirs is not None and math.isnan(theirs):
        theirs = None
    same = ours is None and theirs is None
    if ours is not None and theirs is not None:
        same = abs(ours - theirs) <= TOLERANCE
    if not same:
        sys.exit(f"{what}: the report says {ours!r}, scikit-learn and numpy say {theirs!r}")


def read(path):
    """Columns of one split each; confidences as whole millionths, which is how the sets are written."""
    splits = {"validation": [], "test": []}
    for line in path.read_text().splitlines():
        row = json.loads(line)
        said = row["prediction"]
        written = re.search(r'"confidence":([0-9.]+)', line)
        millionths = -1 if said is None else int(Fraction(written.group(1)) * 10**6)
        label = None if said is None else said["label"]
        splits[row["split"]].append((row["truth"]["label"], label, millionths))
    return splits


def threshold(rows, floor):
    """The best cut in fractions, by trying all."""
    best = None
    for cut in {millionths for _, label, millionths in rows if label is not None}:
        accepted = [(truth, label) for truth, label, at in rows if label is not None and at >= cut]
        if Fraction(len(accepted), len(rows)) < floor:
            continue
        right = sum(truth == label for truth, label in accepted)
        score = (Fraction(right, len(accepted)), len(accepted))
        if best is None or score > best[0]:
            best = (score, cut)
    return None if best is None else best[1]


def calibration_error(right, millionths, bins):
    where = np.minimum(millionths * bins // 10**6, bins - 1)
    confidence = millionths / 10**6
    error = 0.0
    for b in range(bins):
        inside = where == b
        if inside.any():
            error += inside.mean() * abs(right[inside].mean() - confidence[inside].mean())
    return error


def check(where):
    profile = json.loads((where / "profile.json").read_text())
    report = json.loads((where / "report.json").read_text())
    splits = read(where / "predictions.jsonl")
    (candidate,) = report["candidates"]
    cut = threshold(splits["validation"], Fraction(str(profile["minCoverage"])))
    agree(f"{where.name} threshold", candidate["threshold"], None if cut is None else cut / 10**6)
    if cut is None:
        return
    for split in ("validation", "test"):
        rows, ours = splits[split], candidate[split]
        accepted = [row for row in rows if row[1] is not None and row[2] >= cut]
        name = f"{where.name} {split}"
        agree(f"{name} coverage", ours["coverage"], len(accepted) / len(rows))
        if not accepted:
            for metric in ("precisionAtCoverage", "macroF1", "ece"):
                agree(f"{name} {metric}", ours[metric], None)
            continue
        labels = profile["labels"]
        truth = np.array([row[0] for row in accepted])
        said = np.array([row[1] for row in accepted])
        millionths = np.array([row[2] for row in accepted], dtype=np.int64)
        present = sorted(set(truth.tolist()))
        agree(f"{name} precision", ours["precisionAtCoverage"], precision_score(truth, said, average="micro"))
        macro = f1_score(truth, said, labels=present, average="macro", zero_division=0)
        agree(f"{name} macroF1", ours["macroF1"], macro)
        agree(f"{name} ece", ours["ece"], calibration_error(truth == said, millionths, profile["bins"]))
        if split == "test":
            details(name, ours, truth, said, labels)


def details(name, ours, truth, said, labels):
    scores = precision_recall_fscore_support(truth, said, labels=labels, zero_division=np.nan)
    matrix = confusion_matrix(truth, said, labels=labels)
    for at, label in enumerate(labels):
        mine = ours["perClass"][str(label)]
        for part, values in zip(("precision", "recall", "f1", "support"), scores):
            agree(f"{name} {part} of {label}", mine[part], float(values[at]))
        agree(f"{name} predicted of {label}", mine["predicted"], int(matrix[:, at].sum()))
        for other, count in zip(labels, matrix[at]):
            agree(f"{name} {label}->{other}", ours["confusion"].get(f"{label}->{other}", 0), int(count))
    absent = [label for label in labels if label not in set(truth.tolist())]
    if ours["excludedClasses"] != absent:
        sys.exit(f"{name} excludedClasses: {ours['excludedClasses']} is not {absent}")


def main():
    sets = sorted(path for path in pathlib.Path(sys.argv[1]).iterdir() if path.is_dir())
    for where in sets:
        check(where)
    print(json.dumps({"sets": len(sets), "compared": compared}))


if __name__ == "__main__":
    main()
