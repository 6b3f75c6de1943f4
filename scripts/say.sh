# Messages, timing and suggestions for ./hk. Everything here goes to stderr: stdout belongs to what ./hk runs.

say() { printf 'hk: %s\n' "$*" >&2; }

# die MESSAGE: a problem that the message says how to solve. Exit code 1.
die() {
  say "$@"
  exit 1
}

# wrong_usage MESSAGE: a wrong command line. Exit code 2.
wrong_usage() {
  say "$1"
  say "see ./hk help${command:+ $command}"
  exit 2
}

# Exact to a tenth of a second, and without starting a program: 12.3
seconds_since() {
  local tenths=$(((${EPOCHREALTIME/[.,]/} - ${1/[.,]/}) / 100000))
  printf '%d.%d' $((tenths / 10)) $((tenths % 10))
}

# stage WHAT COMMAND...: says what is being done, lets the command print what it prints, says how long it took.
stage() {
  local what=$1 start=$EPOCHREALTIME
  shift
  say "$what …"
  "$@" || return
  say "$what: done in $(seconds_since "$start") s"
}

# quiet_stage WHAT LOG COMMAND...: the same for a command whose output matters only when it fails.
quiet_stage() {
  local what=$1 log=$2 start=$EPOCHREALTIME
  shift 2
  say "$what …"
  if ! "$@" >"$log" 2>&1; then
    cat "$log" >&2
    return 1
  fi
  say "$what: done in $(seconds_since "$start") s"
}

# nearest WORD CANDIDATE...: the candidate with the smallest edit distance, if it is small enough to be a slip.
nearest() {
  local word=$1
  shift
  printf '%s\n' "$@" | awk -v word="$word" '
    function least(a, b, c) { return a < b ? (a < c ? a : c) : (b < c ? b : c) }
    function distance(a, b,    i, j, row, diagonal, kept) {
      for (j = 0; j <= length(b); j++) row[j] = j
      for (i = 1; i <= length(a); i++) {
        diagonal = row[0]; row[0] = i
        for (j = 1; j <= length(b); j++) {
          kept = row[j]
          row[j] = least(row[j] + 1, row[j - 1] + 1, diagonal + (substr(a, i, 1) != substr(b, j, 1)))
          diagonal = kept
        }
      }
      return row[length(b)]
    }
    { d = distance(word, $0); if (best == "" || d < smallest) { best = $0; smallest = d } }
    END { if (best != "" && smallest <= 1 + length(word) / 3) print best }'
}

# unknown KIND WORD CANDIDATE...: ends with "unknown KIND 'WORD'" and, if one is near, what was probably meant.
unknown() {
  local kind=$1 word=$2 meant
  shift 2
  meant=$(nearest "$word" "$@")
  wrong_usage "unknown $kind '$word'${meant:+, did you mean '$meant'?}; there are: $*"
}
