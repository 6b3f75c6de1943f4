#!/usr/bin/env bash
# How ./hk answers right and wrong command lines. Builds and installs nothing.
set -uo pipefail

hk=$(dirname "$(readlink -f "$0")")/../hk
failures=0

# expect CODE TEXT ARGUMENT...: ./hk ARGUMENT... exits with CODE and prints TEXT somewhere.
expect() {
  local code=$1 text=$2 output got
  shift 2
  output=$("$hk" "$@" 2>&1)
  got=$?
  if [[ $got != "$code" || $output != *"$text"* ]]; then
    printf 'FAILED  ./hk %s\n  got exit code %s, expected %s\n  expected the text: %s\n  got: %s\n' \
      "$*" "$got" "$code" "$text" "$output"
    failures=$((failures + 1))
  fi
}

expect 0 "./hk COMMAND"
expect 0 "./hk COMMAND" help
expect 0 "./hk COMMAND" --help
for command in demo test build bench lint format setup; do
  expect 0 "./hk $command" "$command" --help
  expect 0 "./hk $command" help "$command"
done
expect 2 "did you mean 'test'?" tset
expect 2 "did you mean 'build'?" bulid
expect 2 "unknown command 'xyzzy'; there are: demo" xyzzy
expect 2 "unknown command 'xyzzy'" help xyzzy
expect 2 "did you mean '--preset'?" build --prest debug
expect 2 "did you mean '--preset'?" build --prest=debug
expect 2 "did you mean 'release'?" build --preset relaese
expect 2 "did you mean 'debug'?" demo --preset=debgu
expect 2 "option --preset needs a value" build --preset
expect 2 "expected on or off" build --torch maybe
expect 2 "expected a number" build -j many
expect 2 "unknown option '--quick'" format --quick

if ((failures)); then exit 1; fi
echo "all as expected"
