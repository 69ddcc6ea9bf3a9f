#!/bin/sh
# How long `proofmark evaluate` takes beside the system: 1,000 questions, an instant system, 8 at once, and one at a time.
#
# Usage: benches/evaluate.sh [PROGRAM]. PROGRAM is target/release/proofmark unless given; it is not built here. The same
# system is also run alone, over the same lines, for what it takes itself. Fails where 1,000 questions take 2 s or more,
# or where one question takes 1 ms or more beyond the system's own time.
set -eu
program=$(realpath "${1:-target/release/proofmark}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export HOME="$folder" XDG_STATE_HOME="$folder/state" XDG_CONFIG_HOME="$folder/config"

cat > bot.sh <<'BOT'
while IFS= read -r line; do id=${line#*\"id\":\"}; printf '{"id":"%s","reply":"x"}\n' "${id%%\"*}"; done
BOT
i=0
while [ $i -lt 1000 ]; do
    printf '{"id":"q%d","question":"question %d","expected":"x"}\n' $i $i
    i=$((i + 1))
done > q.jsonl
"$program" --quiet init --person bench > /dev/null

now() { date +%s%N; }
best() { # the best of five, in microseconds
    least=
    for _ in 1 2 3 4 5; do
        start=$(now)
        "$@" > out
        took=$((($(now) - start) / 1000))
        if [ -z "$least" ] || [ "$took" -lt "$least" ]; then least=$took; fi
    done
    echo "$least"
}
alone() { sh bot.sh < q.jsonl; }

system=$(best alone)
[ "$(wc -l < out)" -eq 1000 ]
eight=$(best "$program" evaluate --questions q.jsonl --system 'sh bot.sh' --concurrency 8)
grep -q 'quality 1.0000  grounded 1.0000  cost 0  n 1000' out
one=$(best "$program" evaluate --questions q.jsonl --system 'sh bot.sh' --concurrency 1)
grep -q 'quality 1.0000  grounded 1.0000  cost 0  n 1000' out
overhead=$(((one - system) / 1000))
echo "the system alone            $system us"
echo "evaluate, concurrency 8     $eight us"
echo "evaluate, concurrency 1     $one us, $overhead us a question beyond the system"
[ "$eight" -lt 2000000 ] && [ "$overhead" -lt 1000 ]
