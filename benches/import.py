#!/usr/bin/env python3
"""How fast `proofmark import lm-eval` reads a large samples file, and how much memory it takes.

Usage: benches/import.py [--megabytes N] [--rows-of BYTES] [PROGRAM]

PROGRAM is target/release/proofmark unless given; it is not built here. A run of lm-evaluation-harness of N megabytes (1,000 unless
given) is made from the real one in fixtures/import, with rows of some 2,000 bytes. It is imported three times without writing
(`--dry-run`: read, checked and rendered), of which the best counts, and once into a ledger (the same, and everything stored and
signed). Python's own json.loads over the same lines is the peer, and must count as many right answers.

Prints megabytes a second and the largest resident set of each. Fails where the answers differ, and, with 1,000 megabytes or more,
where the reading is slower than 200 MB/s or an import holds more than 200 MB. Needs twice N megabytes in the folder for temporary
files.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIXTURE = ROOT / "fixtures/import/lm_eval/round1/stub-model-a"
STAMP = "2026-11-30T12-19-24.809307"
BAR = 200.0
MOST_MEMORY = 200.0


def make(folder, megabytes, row_bytes):
    """Writes the samples and the results; returns how many rows there are and how many of them are right."""
    row = json.loads(next(FIXTURE.glob("samples_*.jsonl")).read_text().splitlines()[0])
    row["doc"]["id"] = "DOC-ID"
    row["doc_id"] = "DOC-PLACE"
    row["exact_match"] = "SCORE"
    name = next(iter(row["arguments"]))
    text = " ".join(f"word{k}" for k in range(1000))
    spare = max(0, (row_bytes - len(json.dumps(row))) // 2)
    row["arguments"][name]["arg_0"] = ["DOC-ID " + text[:spare]]
    row["doc"]["question"] = text[:spare]
    before, rest = json.dumps(row).split('"DOC-PLACE"')
    template = (before + "%d" + rest).replace("%", "%%").replace("%%d", "%d", 1)
    template = template.replace("DOC-ID", "q%d").replace('"SCORE"', "%d.0") + "\n"
    # Which of the values is the score, whatever the order of the members is.
    parts = template.split("%d")
    score = next(at for at, part in enumerate(parts) if part.endswith('"exact_match": '))
    right = rows = size = 0
    with open(folder / f"samples_ledger_qa_{STAMP}.jsonl", "w", encoding="utf-8") as out:
        while size < megabytes * 1_000_000:
            block = []
            for at in range(rows, rows + 2000):
                values = [at] * (len(parts) - 1)
                values[score] = int(at % 4 != 0)
                right += at % 4 != 0
                block.append(template % tuple(values))
            text = "".join(block)
            out.write(text)
            rows += 2000
            size += len(text)
    results = json.loads(next(FIXTURE.glob("results_*.json")).read_text())
    results["n-samples"]["ledger_qa"] = {"original": rows, "effective": rows}
    (folder / f"results_{STAMP}.json").write_text(json.dumps(results))
    return rows, right, size


def run(arguments, environment, folder):
    """Runs a program to its end; returns its stdout, the seconds it took, and its largest resident set in megabytes."""
    out = folder / "out"
    started = time.monotonic()
    with open(out, "wb") as stdout:
        child = subprocess.Popen(arguments, stdout=stdout, cwd=folder, env=environment)
        _, status, usage = os.wait4(child.pid, 0)
    took = time.monotonic() - started
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"{arguments}: exit {os.waitstatus_to_exitcode(status)}")
    unit = 1_000_000 if sys.platform == "darwin" else 1_000
    return out.read_text(), took, usage.ru_maxrss / unit


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("program", nargs="?", default=str(ROOT / "target/release/proofmark"))
    arguments.add_argument("--megabytes", type=int, default=1000)
    arguments.add_argument("--rows-of", type=int, default=2000)
    asked = arguments.parse_args()
    program = str(pathlib.Path(asked.program).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        environment = {"PATH": os.environ["PATH"], "HOME": name, "NO_COLOR": "1"}
        (folder / "run").mkdir()
        rows, right, size = make(folder / "run", asked.megabytes, asked.rows_of)
        print(f"{rows} rows, {size / 1e6:.0f} MB, {size // rows} bytes a row, {os.cpu_count()} cores")

        def said(what, took, memory):
            print(f"{what:32}{size / took / 1e6:8.0f} MB/s{took:8.2f} s{memory:8.0f} MB")

        peer = (
            "import json,sys\n"
            "right = 0\n"
            "for line in open(sys.argv[1], 'rb'):\n"
            "    right += json.loads(line)['exact_match'] == 1.0\n"
            "print(right)\n"
        )
        samples = str(folder / "run" / f"samples_ledger_qa_{STAMP}.jsonl")
        out, took, memory = run([sys.executable, "-c", peer, samples], environment, folder)
        if int(out) != right:
            sys.exit(f"the peer counts {out.strip()} right, and {right} were written")
        said("python json.loads", took, memory)

        best = None
        for _ in range(3):
            out, took, memory = run([program, "import", "lm-eval", "run", "--dry-run", "--json"], environment, folder)
            card = json.loads(out)["rounds"][0]["card"]
            if (card["n"], card["quality"]) != (rows, right / rows):
                sys.exit(f"another card: {card}")
            best = min(best or (took, memory), (took, memory))
        said("proofmark import --dry-run", *best)

        run([program, "--quiet", "init", "--person", "bench"], environment, folder)
        _, took, memory = run([program, "--quiet", "import", "lm-eval", "run"], environment, folder)
        said("proofmark import", took, memory)
        memory = max(memory, best[1])
        if asked.megabytes >= 1000 and memory > MOST_MEMORY:
            sys.exit(f"{memory:.0f} MB are held, and {MOST_MEMORY:.0f} are the most")
        speed = size / best[0] / 1e6
        if asked.megabytes >= 1000 and speed < BAR:
            sys.exit(f"{speed:.0f} MB/s, and {BAR:.0f} are wanted")


main()
