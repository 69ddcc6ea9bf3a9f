"""The same sums with DuckDB, with polars and scikit-learn, and with a Python loop.

Usage: gate_peers.py FILE. Prints, for each way, the seconds from file to numbers and the numbers of each model: threshold,
accepted and correct on test, macro-F1 and ECE. The coverage floor is 0.5, the bins are ten. Each way also looks for
subjects in two splits and for repeated records; none of them looks for anything else that proofmark refuses.
"""

import collections
import json
import sys
import time

import duckdb
import numpy as np
import polars as pl
from sklearn.metrics import f1_score

FLOOR = 0.5


def with_duckdb(path):
    db = duckdb.connect()
    db.execute(
        """create table p as select model, subjectKey as s, split, truth.bristolType as t,
        prediction.bristolType as y, prediction.confidence as c
        from read_json(?, format = 'newline_delimited', columns = {model: 'VARCHAR', subjectKey: 'VARCHAR',
        split: 'VARCHAR', truth: 'STRUCT(bristolType INTEGER)',
        prediction: 'STRUCT(bristolType INTEGER, confidence DOUBLE)'})""",
        [path],
    )
    leaks = db.execute("select 1 from p group by s having count(distinct split) > 1 limit 1").fetchall()
    again = db.execute("select 1 from p group by model, s having count(*) > 1 limit 1").fetchall()
    assert not leaks and not again
    db.execute(
        """create table cuts as
        with n as (select model, count(*) as n from p where split = 'validation' group by model),
        g as (select model, c, count(*) as a, count(*) filter (t = y) as k
              from p where split = 'validation' and c is not null group by model, c),
        w as (select model, c, sum(a) over down as a, sum(k) over down as k
              from g window down as (partition by model order by c desc))
        select model, c as cut from w join n using (model) where a >= ? * n
        qualify row_number() over (partition by model order by k / a desc, a desc) = 1""",
        [FLOOR],
    )
    db.execute("create table x as select p.* from p join cuts using (model) where split = 'test' and c >= cut")
    rows = db.execute(
        """with f as (select model, t as label, count(*) as support, count(*) filter (t = y) as hits from x group by all),
        q as (select model, y as label, count(*) as predicted from x group by all),
        m as (select model, avg(2.0 * hits / (support + coalesce(predicted, 0))) as f1
              from f left join q using (model, label) group by model),
        b as (select model, least(floor(c * 10), 9) as bin, abs(count(*) filter (t = y) - sum(c)) as gap from x group by all),
        e as (select model, sum(gap) as gap from b group by model),
        a as (select model, count(*) as accepted, count(*) filter (t = y) as correct from x group by model)
        select model, cut, accepted, correct, f1, gap / accepted from a join m using (model) join e using (model)
        join cuts using (model)"""
    ).fetchall()
    return {row[0]: list(row[1:]) for row in rows}


def with_polars(path):
    frame = pl.read_ndjson(path).select(
        "model",
        "subjectKey",
        "split",
        t=pl.col("truth").struct.field("bristolType"),
        y=pl.col("prediction").struct.field("bristolType"),
        c=pl.col("prediction").struct.field("confidence"),
    )
    assert frame.group_by("subjectKey").agg(pl.col("split").n_unique())["split"].max() == 1
    assert not frame.select("model", "subjectKey").is_duplicated().any()
    found = {}
    for (model,), part in frame.group_by("model"):
        validation = part.filter(split="validation")
        cuts = (
            validation.drop_nulls("c")
            .group_by("c")
            .agg(a=pl.len(), k=(pl.col("t") == pl.col("y")).sum())
            .sort("c", descending=True)
            .with_columns(pl.col("a").cum_sum(), pl.col("k").cum_sum())
            .filter(pl.col("a") >= FLOOR * validation.height)
            .sort(pl.col("k") / pl.col("a"), pl.col("a"), descending=True)
        )
        cut = cuts["c"][0]
        test = part.filter((pl.col("split") == "test") & (pl.col("c") >= cut))
        truth, said, confidence = (test[name].to_numpy() for name in "tyc")
        right = truth == said
        bins = np.minimum(np.floor(confidence * 10), 9)
        gaps = sum(abs(right[bins == b].sum() - confidence[bins == b].sum()) for b in range(10))
        macro = f1_score(truth, said, labels=sorted(set(truth.tolist())), average="macro", zero_division=0)
        found[model] = [cut, len(truth), int(right.sum()), float(macro), float(gaps / len(truth))]
    return found


def with_a_loop(path):
    splits, seen = {}, set()
    rows = collections.defaultdict(lambda: collections.defaultdict(list))
    totals = collections.Counter()
    with open(path, encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            model, subject, split = row["model"], row["subjectKey"], row["split"]
            assert splits.setdefault(subject, split) == split and (model, subject) not in seen
            seen.add((model, subject))
            totals[model, split] += 1
            said = row["prediction"]
            if said is not None:
                rows[model][split].append((said["confidence"], row["truth"]["bristolType"], said["bristolType"]))
    return {model: loop_model(parts, totals[model, "validation"]) for model, parts in rows.items()}


def loop_model(parts, total):
    counts = collections.defaultdict(lambda: [0, 0])
    for confidence, truth, said in parts["validation"]:
        counts[confidence][0] += 1
        counts[confidence][1] += truth == said
    accepted = right = 0
    best = (0, 0, None)
    for cut in sorted(counts, reverse=True):
        accepted, right = accepted + counts[cut][0], right + counts[cut][1]
        if accepted >= FLOOR * total:
            best = max(best, (right / accepted, accepted, cut))
    cut = best[2]
    cells, sums = collections.Counter(), [[0, 0.0] for _ in range(10)]
    for confidence, truth, said in parts["test"]:
        if confidence >= cut:
            cells[truth, said] += 1
            bin = sums[min(int(confidence * 10), 9)]
            bin[0] += truth == said
            bin[1] += confidence
    all_accepted = sum(cells.values())
    support, predicted = collections.Counter(), collections.Counter()
    for (truth, said), count in cells.items():
        support[truth] += count
        predicted[said] += count
    macro = sum(2 * cells[c, c] / (support[c] + predicted[c]) for c in support) / len(support)
    correct = sum(cells[c, c] for c in support)
    return [cut, all_accepted, correct, macro, sum(abs(k - s) for k, s in sums) / all_accepted]


def main():
    ways = {"DuckDB": (with_duckdb, 3), "polars with scikit-learn": (with_polars, 2), "a Python loop": (with_a_loop, 1)}
    report = {}
    for name, (way, runs) in ways.items():
        times = []
        for _ in range(runs):
            start = time.perf_counter()
            models = way(sys.argv[1])
            times.append(time.perf_counter() - start)
        report[name] = {"seconds": min(times), "models": models}
    print(json.dumps(report))


if __name__ == "__main__":
    main()
