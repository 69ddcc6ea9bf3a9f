#!/bin/sh
# Records what an evaluation tool measured, compares it with the baseline or the round before, and writes a summary in
# Markdown. Needs nothing but proofmark and a POSIX shell.
#
#   ci/proofmark-ci.sh TOOL PATH...
#
# Exit: 0 not regressed, or the first round of its line; 3 regressed; 2 refused or not comparable; 1 could not run. Of several
# lines the worst counts.
#
# PROOFMARK                the program [proofmark]
# PROOFMARK_KEY            the text of the key that signs, and PROOFMARK_LOG_KEY that of the log; proofmark reads them itself
# PROOFMARK_LINE           the line, or the beginning of the names of several [the ledger's]
# PROOFMARK_BASE           the revision to compare with, as in `main` [the line's baseline, else the round before]
# PROOFMARK_ALLOW_UNKNOWN  what may be unknown when rounds are compared, as in `generation model`
# PROOFMARK_TOLERANCE      how much worse an axis may be
# PROOFMARK_RECORD         0: do not append the comparison as a receipt [1]
# PROOFMARK_SUMMARY        the file that the summary is appended to [GITHUB_STEP_SUMMARY, else proofmark-summary.md]
set -eu

if [ "$#" -lt 2 ]; then
  echo 'usage: proofmark-ci.sh TOOL PATH...' >&2
  exit 2
fi
case ${PROOFMARK_BASE:-} in
  -*)
    echo 'proofmark-ci.sh: PROOFMARK_BASE begins with `-`, so it is no revision' >&2
    exit 2
    ;;
esac
proofmark=${PROOFMARK:-proofmark}
summary=${PROOFMARK_SUMMARY:-${GITHUB_STEP_SUMMARY:-proofmark-summary.md}}
tool=$1
shift

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Runs proofmark; stdout and stderr go to files. Sets `code`; whatever is none of its exit codes is a failure to run.
run() {
  code=0
  "$proofmark" "$@" </dev/null >"$work/out" 2>"$work/err" || code=$?
  case $code in 0 | 2 | 3) ;; *) code=1 ;; esac
  cat "$work/err" >&2
}

# Adds a heading and the errors of the last run to the summary, indented, so that nothing in them is markup.
tell_errors() {
  { printf '### %s\n\n' "$1" && sed 's/^/    /' "$work/err" && printf '\n'; } >>"$summary"
}

# Keeps the worse of two exit codes: 1, then 2, then 3, then 0.
worst=0
count_in() {
  case "$1$worst" in
    1? | ?1) worst=1 ;;
    2? | ?2) worst=2 ;;
    3? | ?3) worst=3 ;;
  esac
}

# Whether the line has one round and no baseline, so that there is nothing to compare with.
is_first() {
  "$proofmark" log --line "$1" --kind scorecard --oneline >"$work/rounds" || return 1
  "$proofmark" log --line "$1" --kind baseline --oneline >"$work/baselines" || return 1
  [ "$(wc -l <"$work/rounds")" -eq 1 ] && [ ! -s "$work/baselines" ]
}

# Reads what comparisons will be told, and compares nothing.
check_options() {
  set -- compare
  for field in ${PROOFMARK_ALLOW_UNKNOWN:-}; do
    set -- "$@" --allow-unknown "$field"
  done
  if [ -n "${PROOFMARK_TOLERANCE:-}" ]; then
    set -- "$@" --tolerance "$PROOFMARK_TOLERANCE"
  fi
  run "$@" --help
}

# A mistake shows in the first round, which is compared with nothing, and before anything is recorded.
check_options
if [ "$code" -eq 2 ]; then
  tell_errors 'Not recorded'
  exit 2
fi

# The paths come last, behind `--`, whatever they are called.
if [ -n "${PROOFMARK_LINE:-}" ]; then
  run import "$tool" --yes --line "$PROOFMARK_LINE" -- "$@"
else
  run import "$tool" --yes -- "$@"
fi
cat "$work/out"
if [ "$code" -ne 0 ]; then
  tell_errors 'Not recorded'
  exit "$code"
fi
# A round begins `[LINE ID] receipt INDEX`, and no other line of the answer begins with a bracket.
sed -n 's/^\[\([a-z0-9._-]*\) [0-9a-f]*\] receipt [0-9]* .*/\1/p' "$work/out" >"$work/lines"
if [ ! -s "$work/lines" ]; then
  echo 'proofmark-ci.sh: the answer of `proofmark import` names no line' >&2
  exit 1
fi

while IFS= read -r line; do
  set -- compare ${PROOFMARK_BASE:+"$PROOFMARK_BASE"} --line "$line"
  for field in ${PROOFMARK_ALLOW_UNKNOWN:-}; do
    set -- "$@" --allow-unknown "$field"
  done
  if [ -n "${PROOFMARK_TOLERANCE:-}" ]; then
    set -- "$@" --tolerance "$PROOFMARK_TOLERANCE"
  fi
  run "$@" --format markdown
  if [ -s "$work/out" ]; then
    cat "$work/out" >>"$summary"
    outcome=$code
    if [ "${PROOFMARK_RECORD:-1}" != 0 ] && { [ "$code" -eq 0 ] || [ "$code" -eq 3 ]; }; then
      run "$@" --record --yes
      # A comparison that came out otherwise a moment later is not the one that was told.
      if [ "$code" -ne "$outcome" ]; then
        tell_errors 'The comparison was not recorded'
        count_in 1
      fi
    fi
    count_in "$outcome"
  elif [ "$code" -eq 2 ] && [ -z "${PROOFMARK_BASE:-}" ] && is_first "$line"; then
    printf '### First round of `%s`\n\nThere is nothing to compare it with.\n\n' "$line" >>"$summary"
  else
    tell_errors "\`$line\` was not compared"
    count_in "$code"
    [ "$code" -ne 0 ] || count_in 1
  fi
done <"$work/lines"
exit "$worst"
