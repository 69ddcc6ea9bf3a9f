#!/usr/bin/env python3
"""Times proofmark beside its peers, as whole processes that take turns, and writes docs/performance.md.

    cargo build --release && python3 benches/peers.py [--quick] [--write] [SECTION ...]

Needs git with SSH signing (OpenSSH's ssh-keygen), b3sum and strace; dvc is timed too where it is installed. Every section
first checks that both sides did the same work. `--quick` takes a tenth of the data; `--write` replaces the page.
"""

import argparse
import datetime
import json
import os
import platform
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROOFMARK = ROOT / "target" / "release" / "proofmark"
SYNCS = "fsync,fdatasync,syncfs,sync,sync_file_range"


class Run:
    """What one process took: seconds on the wall, seconds of CPU with its children, MiB at its largest."""

    def __init__(self, argv, cwd, env, stdin=None, ok=(0,)):
        start = time.monotonic()
        with open(stdin or os.devnull, "rb") as source, tempfile.TemporaryFile() as out:
            child = subprocess.Popen(
                [str(word) for word in argv], cwd=cwd, env=env, stdin=source, stdout=out, stderr=subprocess.STDOUT
            )
            _, status, usage = os.wait4(child.pid, 0)
            self.wall = time.monotonic() - start
            child.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            self.text = out.read().decode(errors="replace")
        self.cpu, self.mib = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
        if child.returncode not in ok:
            sys.exit(f"{argv}: exit {child.returncode}\n{self.text[-2000:]}")


def median(runs, what="wall"):
    return statistics.median(getattr(run, what) for run in runs)


class Bench:
    def __init__(self, folder, quick):
        self.folder, self.quick = Path(folder), quick
        self.small, self.large = (2_000, 20_000) if quick else (20_000, 200_000)
        self.env = {
            "PATH": os.environ["PATH"], "HOME": str(folder), "LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1",
            "XDG_CONFIG_HOME": f"{folder}/config", "XDG_STATE_HOME": f"{folder}/state",
        }
        self.rows, self.ledgers, self.repositories = [], {}, {}
        self.run([PROOFMARK, "key", "new"])
        key = self.folder / "git_key"
        self.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key])
        (self.folder / "allowed").write_text(f"bench@example.org {key.with_suffix('.pub').read_text()}")
        for name, value in {
            "user.name": "bench", "user.email": "bench@example.org", "gpg.format": "ssh", "user.signingkey": f"{key}.pub",
            "gpg.ssh.allowedSignersFile": self.folder / "allowed", "init.defaultBranch": "main", "gc.auto": "0",
            "maintenance.auto": "false",
        }.items():
            self.run(["git", "config", "--global", name, value])

    def run(self, argv, cwd=None, **options):
        return Run(argv, cwd or self.folder, self.env, **options)

    def turns(self, count, ours, peer):
        """A B A B …, after one of each that is not counted, and once all that was made for it is on the disk: nothing is timed
        beside the writing back of that."""
        os.sync()
        ours(), peer()
        pairs = [(ours(), peer()) for _ in range(count)]
        return [one for one, _ in pairs], [other for _, other in pairs]

    def syncs(self, argv, cwd):
        """How many times a process, with all that it starts, asks for data to be durable."""
        trace = self.folder / "trace"
        self.run(["strace", "-f", "-qq", "-o", trace, "-e", f"trace={SYNCS}", *argv], cwd)
        return sum(1 for line in trace.read_text().splitlines() if "(" in line and "resumed" not in line)

    def row(self, work, ours, peer, bar, met, note=""):
        self.rows.append((work, ours, peer, bar, "yes" if met else "**no**", note))
        print(f"{work}: {ours} | {peer} | bar {bar} | {'met' if met else 'MISSED'} {note}", flush=True)

    def ledger(self, size):
        """A ledger with so many receipts, made once."""
        if size not in self.ledgers:
            folder = self.folder / f"ledger-{size}"
            folder.mkdir()
            self.run([PROOFMARK, "init"], folder)
            self.batch(folder, size - 1)
            self.run([PROOFMARK, "append", "--batch", "batch.jsonl", "-q", "--json"], folder)
            self.ledgers[size] = folder
        return self.ledgers[size]

    def batch(self, folder, count):
        with open(folder / "batch.jsonl", "w") as file:
            for number in range(count):
                card = {"quality": number % 1000 / 1000, "realized_cost": float(number), "grounded_fraction": 0.5,
                        "n": 1000, "question_set_id": "pm1:" + "ab" * 32}
                file.write(json.dumps({"card": card, "scorer": "substring/v2", "line": f"line{number % 7}"}) + "\n")

    def repository(self, size):
        """A git repository with so many commits, each with a small file of its own content, made once."""
        if size not in self.repositories:
            folder = self.folder / f"git-{size}"
            self.run(["git", "init", "-q", folder])
            stream = self.folder / "stream"
            with open(stream, "w") as file:
                for number in range(1, size + 1):
                    card = json.dumps({"quality": number / 1e6, "n": 1000, "id": "ab" * 32})
                    file.write(f"blob\nmark :{2 * number}\ndata {len(card)}\n{card}\n")
                    file.write(f"commit refs/heads/main\nmark :{2 * number + 1}\ncommitter b <b@e> {number} +0000\ndata 1\nx\n")
                    file.write(f"M 100644 :{2 * number} card.json\n\n")
            self.run(["git", "fast-import", "--quiet"], folder, stdin=stream)
            self.run(["git", "reset", "-q", "--hard"], folder)
            self.repositories[size] = folder
        return self.repositories[size]

    def loose(self, size):
        """The same commits as `git commit` leaves them before anything packs them: each object a file."""
        packed, folder = self.repository(size), self.folder / f"git-loose-{size}"
        if not folder.exists():
            self.run(["git", "init", "-q", folder])
            for pack in packed.glob(".git/objects/pack/*.pack"):
                self.run(["git", "unpack-objects", "-q"], folder, stdin=pack)
            head = self.run(["git", "rev-parse", "HEAD"], packed).text.strip()
            self.run(["git", "update-ref", "refs/heads/main", head], folder)
            assert int(self.run(["git", "rev-list", "--count", "HEAD"], folder).text) == size
        return folder

    def floor(self, ledger):
        """A program that writes what an append to this ledger writes, and does nothing else; and the folder to run it in."""
        folder = self.folder / "floor"
        for part in ["staging", "evidence"]:
            (folder / part).mkdir(parents=True)
        self.run(["cc", "-O2", "-o", folder / "floor", ROOT / "benches" / "floor.c"])
        bundle = max((ledger / ".ledger" / "tile" / "entries").rglob("*.p/*"), key=lambda file: file.stat().st_mtime_ns)
        shutil.copy(bundle, folder / "bundle")
        (folder / "cell").write_bytes(bytes(16384))
        (folder / "evidence" / "file").write_text("evidence")
        return [folder / "floor"], folder

    def receipts(self, folder):
        return int((folder / ".ledger" / "checkpoint").read_text().split("\n")[1])

    # ---- the sections -------------------------------------------------------------------------------------------------

    def append(self):
        count = 10 if self.quick else 40
        ledger, larger, repository = self.ledger(self.small), self.ledger(self.large), self.folder / "signed"
        self.run(["git", "init", "-q", repository])
        commits = iter(range(10**9))

        def sign():
            (repository / "card.json").write_text(f'{{"quality": 0.5, "n": {next(commits)}}}')
            add = self.run(["git", "add", "card.json"], repository)
            commit = self.run(["git", "commit", "-q", "-S", "-m", "round"], repository)
            add.wall, add.cpu = add.wall + commit.wall, add.cpu + commit.cpu
            return add

        card = {"quality": 0.5, "realized_cost": 1.0, "grounded_fraction": 0.5, "n": 1000, "question_set_id": "pm1:" + "ab" * 32}
        for folder in (ledger, larger):
            (folder / "card.json").write_text(json.dumps(card))
        argv = [PROOFMARK, "append", "--card", "card.json", "--scorer", "substring/v2", "-q"]
        size = self.receipts(ledger)
        ours, peer = self.turns(count, lambda: self.run(argv, ledger), sign)
        assert self.receipts(ledger) == size + count + 1, "every append is in the log"
        self.run(["git", "verify-commit", "HEAD"], repository)
        ratio = median(peer) / median(ours)
        syncs, theirs = self.syncs(argv, ledger), self.syncs(["git", "commit", "-q", "-S", "--allow-empty", "-m", "x"], repository)
        note = f"{syncs} fsyncs, one of them the evidence's own, beside {theirs} of `git commit`; CPU {1000 * median(ours, 'cpu'):.1f} ms beside {1000 * median(peer, 'cpu'):.1f} ms"
        self.row("one append, durable", f"{1000 * median(ours):.2f} ms", f"`git add` + `git commit -S`: {1000 * median(peer):.2f} ms",
                 "≥ 7 × faster", ratio >= 7, f"{ratio:.1f} ×; {note}")
        floor = self.floor(ledger)
        ours, least = self.turns(count, lambda: self.run(argv, ledger), lambda: self.run(*floor))
        assert self.syncs(*floor) == syncs, "the same syncs"
        self.row("one append, durable", f"{1000 * median(ours):.2f} ms", f"its writes and syncs, and nothing else (`benches/floor.c`): {1000 * median(least):.2f} ms",
                 "none", True, f"git takes {median(peer) / median(least):.1f} × as long as those alone")
        one, ten = self.turns(count, lambda: self.run(argv, ledger), lambda: self.run(argv, larger))
        ratio = median(ten) / median(one)
        self.row(f"one append to {self.large:,} receipts", f"{1000 * median(ten):.2f} ms", f"to {self.small:,}: {1000 * median(one):.2f} ms",
                 "≤ 1.2 ×", ratio <= 1.2, f"{ratio:.2f} ×")

    def batches(self):
        runs, syncs = {}, 0
        for size in (self.small, self.large):
            taken = []
            for turn in range(3 if size == self.small else 1):
                folder = self.folder / f"batch-{size}-{turn}"
                folder.mkdir()
                self.run([PROOFMARK, "init"], folder)
                self.batch(folder, size)
                argv = [PROOFMARK, "append", "--batch", "batch.jsonl", "-q", "--json"]
                taken.append(self.run(argv, folder))
                assert self.receipts(folder) == size + 1
                if size == self.small and turn == 2:
                    (folder / "batch.jsonl").write_text("".join((folder / "batch.jsonl").read_text().splitlines(True)[: size // 10]))
                    syncs = self.syncs(argv, folder)
                shutil.rmtree(folder)
            runs[size] = taken
        rate = self.small / median(runs[self.small])
        self.row(f"batch append of {self.small:,}", f"{rate:,.0f} receipts/s", "signed git commits, one by one: see above",
                 "≥ 10,000/s", rate >= 10_000, f"{syncs} fsyncs in one batch; CPU {median(runs[self.small], 'cpu'):.2f} s")
        self.tenfold("batch append", runs[self.small], runs[self.large])

    def tenfold(self, work, small, large):
        ratio = median(large) / median(small)
        memory = f"{median(small, 'mib'):.0f} → {median(large, 'mib'):.0f} MiB"
        met = ratio <= 11 and median(large, "mib") <= median(small, "mib") * 1.25 + 4
        self.row(f"{work}, ten times the data", f"{median(large):.2f} s", f"{median(small):.2f} s", "≤ 11 ×, memory unchanged", met, f"{ratio:.1f} ×; {memory}")

    def verify(self):
        count = 2 if self.quick else 5
        ledger = self.ledger(self.small)
        for state, repository, bar in [("loose objects", self.loose(self.small), 5), ("packed objects", self.repository(self.small), None)]:
            ours, peer = self.turns(count, lambda: self.run([PROOFMARK, "verify", "-q"], ledger), lambda: self.run(["git", "fsck", "--full"], repository))
            ratio = median(peer) / median(ours)
            met = (f"≥ {bar} × faster", ratio >= bar) if bar else ("none", True)
            self.row(f"`verify` of {self.small:,}", f"{median(ours):.3f} s", f"`git fsck`, {state}, no signature: {median(peer):.2f} s", *met,
                     f"{ratio:.1f} ×; CPU {median(ours, 'cpu'):.2f} s beside {median(peer, 'cpu'):.2f} s")
        signed = self.folder / "verified"
        self.run(["git", "init", "-q", signed])
        for number in range(50):
            self.run(["git", "commit", "-q", "-S", "--allow-empty", "-m", str(number)], signed)
        commits = self.run(["git", "rev-list", "HEAD"], signed).text.split()
        checked = self.run(["git", "verify-commit", *commits], signed)
        assert checked.text.count("Good") == len(commits)
        theirs, rate = len(commits) / checked.wall, self.receipts(ledger) / median(ours)
        self.row("signatures verified", f"{rate:,.0f}/s, with the tree", f"`git verify-commit`: {theirs:.0f}/s", "≥ 300 ×", rate / theirs >= 300, f"{rate / theirs:,.0f} ×")
        self.tenfold("`verify`", ours, [self.run([PROOFMARK, "verify", "-q"], self.ledger(self.large))])

    def hashing(self):
        size = (1 << 30) // (10 if self.quick else 1)
        noise, text = self.folder / "noise.bin", self.folder / "text.jsonl"
        with open(noise, "wb") as file:
            for _ in range(size >> 20):
                file.write(os.urandom(1 << 20))
        with open(text, "w") as file:
            number = 0
            while file.tell() < size:
                lines = ({"model": "m", "subjectKey": f"{n * 2654435761 % 2**64:016x}", "split": "test", "truth": {"label": n % 7},
                          "prediction": {"label": n * 31 % 7, "confidence": n % 1000 / 1000}} for n in range(number, number + 10_000))
                file.write("".join(json.dumps(line) + "\n" for line in lines))
                number += 10_000
        folder = self.folder / "evidence"
        folder.mkdir()
        self.run([PROOFMARK, "init"], folder)
        (folder / "card.json").write_text(json.dumps({"quality": 0.5, "realized_cost": 1.0, "grounded_fraction": 0.5, "n": 10, "question_set_id": "pm1:" + "ab" * 32}))
        store = lambda file: [PROOFMARK, "append", "--card", "card.json", "--scorer", "substring/v2", "-q", "--evidence", f"data={file}"]
        self.run(store(noise), folder)
        digest = self.run(["b3sum", "--no-names", noise]).text.strip()
        held = next(iter(folder.glob(f".ledger/objects/{digest[:2]}/{digest[2:]}*")))
        ours, peer = self.turns(3 if self.quick else 7, lambda: self.run([PROOFMARK, "verify", "-q"], folder), lambda: self.run(["b3sum", held]))
        ratio = median(ours) / median(peer)
        self.row(f"hashing {size >> 20} MiB of held evidence (`verify`)", f"{median(ours):.3f} s", f"`b3sum`: {median(peer):.3f} s", "≤ 1.1 ×", ratio <= 1.1,
                 f"{ratio:.2f} ×; CPU {median(ours, 'cpu'):.2f} s beside {median(peer, 'cpu'):.2f} s; peak {median(ours, 'mib'):.0f} MiB with mapped pages")

        def fresh(make):
            def once():
                place = self.folder / "store"
                shutil.rmtree(place, ignore_errors=True)
                place.mkdir()
                return make(place)
            return once

        def ours_stored(place):
            self.run([PROOFMARK, "init"], place)
            shutil.copy(folder / "card.json", place / "card.json")
            run = self.run(store(text), place)
            assert next(iter(place.glob(f".ledger/objects/{expected[:2]}/{expected[2:]}*"))).exists()
            return run

        def git_stored(place):
            self.run(["git", "init", "-q", place])
            os.link(text, place / "text.jsonl")
            return self.run(["git", "add", "text.jsonl"], place)

        def dvc_stored(place):
            self.run(["git", "init", "-q", place])
            self.run(["dvc", "init", "-q"], place)
            shutil.copy(text, place / "text.jsonl")
            return self.run(["dvc", "add", "-q", "text.jsonl"], place)

        expected = self.run(["b3sum", "--no-names", text]).text.strip()
        ours, peer = self.turns(1, fresh(ours_stored), fresh(git_stored))
        ratio = median(peer) / median(ours)
        self.row(f"storing {size >> 20} MiB of JSON lines, durable", f"{median(ours):.2f} s", f"`git add`: {median(peer):.2f} s", "≥ 3 × faster", ratio >= 3,
                 f"{ratio:.1f} ×; CPU {median(ours, 'cpu'):.2f} s beside {median(peer, 'cpu'):.2f} s; peak {median(ours, 'mib'):.0f} MiB")
        if shutil.which("dvc"):
            ours, peer = self.turns(1, fresh(ours_stored), fresh(dvc_stored))
            ratio = median(peer) / median(ours)
            self.row(f"storing {size >> 20} MiB of JSON lines, durable", f"{median(ours):.2f} s", f"`dvc add`: {median(peer):.2f} s", "≥ 3 × faster", ratio >= 3, f"{ratio:.1f} ×")
        else:
            print("dvc is not installed: not timed", flush=True)
        for file in (noise, text):
            file.unlink()
        shutil.rmtree(folder), shutil.rmtree(self.folder / "store")

    def reading(self):
        size = 10_000 if self.quick else 100_000
        ledger, repository, count = self.ledger(size), self.repository(size), 20 if self.quick else 60
        self.run([PROOFMARK, "log", "-n", "1"], ledger)
        listed = json.loads(self.run([PROOFMARK, "log", "-n", "20", "--json"], ledger).text)
        assert len(listed["receipts"]) == 20
        assert len(self.run(["git", "log", "-n", "20", "--oneline"], repository).text.splitlines()) == 20
        git_log = lambda: self.run(["git", "log", "-n", "20"], repository)
        for words in (["log", "-n", "20"], ["show", "line3~5"]):
            ours, peer = self.turns(count, lambda: self.run([PROOFMARK, *words], ledger), git_log)
            ratio = median(ours) / median(peer)
            self.row(f"`{' '.join(words)}` on {size:,} receipts", f"{1000 * median(ours):.2f} ms", f"`git log -n 20`: {1000 * median(peer):.2f} ms", "≤ 1.5 ×", ratio <= 1.5, f"{ratio:.2f} ×")
        ours, peer = self.turns(count, lambda: self.run([PROOFMARK, "--version"]), lambda: self.run(["git", "--version"]))
        ratio = median(ours) / median(peer)
        self.row("start-up", f"{1000 * median(ours):.2f} ms", f"`git --version`: {1000 * median(peer):.2f} ms", "≤ 1.2 ×", ratio <= 1.2, f"{ratio:.2f} ×")

    def index(self):
        size = 10_000 if self.quick else 100_000
        ledger = self.ledger(size)
        self.run([PROOFMARK, "reindex", "-q"], ledger)
        ours, peer = self.turns(3, lambda: self.run([PROOFMARK, "reindex", "-q"], ledger), lambda: self.inserts(ledger / ".ledger/index.sqlite"))
        ratio = median(peer) / median(ours)
        self.row(f"index of {size:,} receipts, from the log", f"{median(ours):.2f} s", f"the same rows inserted from memory (synchronous off, Python's sqlite3): {median(peer):.2f} s", "≥ 0.6 ×", ratio >= 0.6,
                 f"{ratio:.2f} ×; CPU {median(ours, 'cpu'):.2f} s, peak {median(ours, 'mib'):.0f} MiB")
        tenth = self.ledger(size // 10)
        small = [self.run([PROOFMARK, "reindex", "-q"], tenth) for _ in range(3)]
        self.tenfold("index", small, ours)

    def inserts(self, built):
        """Inserts every row of the index that was built into an empty one; only the inserts are timed."""
        source = sqlite3.connect(built)
        schema = [sql for (sql,) in source.execute("select sql from sqlite_master where sql is not null")]
        tables = [name for (name,) in source.execute("select name from sqlite_master where type = 'table' and name not like 'sqlite%'")]
        rows = {table: source.execute(f"select * from {table}").fetchall() for table in tables}
        copy = self.folder / "copy.sqlite"
        copy.unlink(missing_ok=True)
        target = sqlite3.connect(copy, isolation_level=None)
        target.execute("pragma synchronous = off")
        target.execute("pragma journal_mode = wal")
        for sql in schema:
            target.execute(sql)
        start, cpu = time.monotonic(), time.process_time()
        target.execute("begin")
        for table, content in rows.items():
            if content:
                target.executemany(f"insert into {table} values ({','.join('?' * len(content[0]))})", content)
        target.execute("commit")
        run = argparse.Namespace(wall=time.monotonic() - start, cpu=time.process_time() - cpu, mib=0)
        assert all(target.execute(f"select count(*) from {table}").fetchone()[0] == len(content) for table, content in rows.items())
        return run


SECTIONS = ["append", "batches", "verify", "hashing", "reading", "index"]

PAGE = """# Performance

Written by `benches/peers.py`, which first checks that both sides did the same work, then runs whole processes in turn
(A B A B) and takes medians. The machine is a small virtual one and noisy: the ratios of one run mean something, seconds of
different runs do not. "CPU" is user and system time with that of child processes.

{date} · {cores} cores, {memory} GiB, Linux {kernel} · git {git}, b3sum {b3sum} · proofmark {version}

| work | proofmark | beside | bar | met | |
|---|---|---|---|---|---|
{rows}

The gate has its own bench and its own figures: `docs/gate.md`, section "Speed". Signatures and whole audits beside bare
cryptography, and a replay of 1,000,000 answers beside scoring them: `cargo bench --bench ed25519` and `cargo bench --bench verify`. Asking systems: `benches/evaluate.sh`; importing: `benches/import.py`. How many fsyncs stand behind an append, and
why: `docs/format.md`, section "Commit".
"""


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--quick", action="store_true")
    arguments.add_argument("--write", action="store_true")
    arguments.add_argument("--program", type=Path, default=PROOFMARK, help="the proofmark to time")
    arguments.add_argument("sections", nargs="*", choices=[*SECTIONS, []])
    chosen = arguments.parse_args()
    globals()["PROOFMARK"] = chosen.program.resolve()
    for tool in ["git", "ssh-keygen", "b3sum", "strace", "cc", str(PROOFMARK)]:
        if not shutil.which(tool):
            sys.exit(f"{tool} is missing")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder, chosen.quick)
        for section in chosen.sections or SECTIONS:
            getattr(bench, section)()
        said = lambda *argv: bench.run(argv).text.split()[-1]
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
        page = PAGE.format(
            date=datetime.date.today().isoformat(), cores=os.cpu_count(), memory=round(memory), kernel=platform.release().split("-")[0],
            git=said("git", "--version"), b3sum=said("b3sum", "--version"), version=said(PROOFMARK, "--version"),
            rows="\n".join("| " + " | ".join(row) + " |" for row in bench.rows),
        )
    if chosen.write:
        (ROOT / "docs" / "performance.md").write_text(page)
    print(page)


main()
