# What ./hk says about itself.

help() {
  cat <<'TEXT'
./hk COMMAND [OPTIONS]        everything that one does with this tree, set up and built as needed

  demo    build, then show what hocket does, in a few seconds
  test    build and run the tests
  build   build the libraries and the command; it stands at build/hocket then
  bench   build and run a benchmark
  lint    check formatting, includes and clang-tidy
  format  format the sources in place
  setup   install what the others need, and build nothing
  help    this page; ./hk help COMMAND or ./hk COMMAND --help says more

Options of every command that builds
  --preset P    release (default), debug, asan, tsan, fuzz; built in build/P
  --torch X     on: with libtorch. off: without it, in build/P-core.
                Default: on for release and debug, off for asan, tsan, fuzz
  -j N          compile N files at a time (default: one for each core)

The first call installs Debian packages (as root; otherwise it says which) and libtorch into .venv. Later calls start at once.
TEXT
}

help_of() {
  case $1 in
    demo) cat <<'TEXT' ;;
./hk demo [OPTIONS] [ARGUMENTS of `hocket demo`]

  ./hk demo
  ./hk demo --torch off      without libtorch
  ./hk demo -- --help        what `hocket demo` itself takes
TEXT
    test) cat <<'TEXT' ;;
./hk test [--all] [-R REGEX] [OPTIONS]

  --all      the long tests too, the core under the address and thread sanitizers, and every reader under libFuzzer
  -R REGEX   only tests whose name matches; names are <room>.<Suite>.<test>

  ./hk test
  ./hk test -R '^ir\.'           the tests of one room
  ./hk test --preset asan        the core under the address sanitizer
TEXT
    build) cat <<'TEXT' ;;
./hk build [--all] [OPTIONS]

  --all   the tests and benchmarks too

  ./hk build
  ./hk build --torch off          the core and the command, without libtorch
  ./hk build --preset debug
TEXT
    bench) cat <<'TEXT' ;;
./hk bench [NAME [--quick] [--json FILE] [--check]] [OPTIONS]

Without NAME, lists the benchmarks. What ./hk does not know is given to the benchmark.
  --quick       a few seconds instead of the full measurement
  --json FILE   write the results to FILE as well
  --check       fail if a result misses its target

  ./hk bench
  ./hk bench schedule --quick
  ./hk bench comm --quick
  ./hk bench comm --pypi         against Intel MPI and oneCCL too, which come from PyPI (2 GB)
TEXT
    lint) cat <<'TEXT' ;;
./hk lint [--all] [--torch off] [-j N]

Checks the format of all sources, the include rules of src/README.md, and runs clang-tidy over the changed files.
  --all   clang-tidy over all files

  ./hk lint
  ./hk lint --all --torch off
TEXT
    format) cat <<'TEXT' ;;
./hk format

Formats all C++ sources in place with clang-format.
TEXT
    setup) cat <<'TEXT' ;;
./hk setup [--all] [--torch off]

Installs the Debian packages of scripts/packages.txt and libtorch into .venv.
  --all   also what lint, format, fuzzing and the tests of the report's page need

  ./hk setup
  PIP_FIND_LINKS=wheels ./hk setup      offline, from a folder of wheels
TEXT
    *) help ;;
  esac
}
