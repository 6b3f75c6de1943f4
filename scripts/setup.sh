# Set-up for ./hk: Debian packages and the Python environment that libtorch comes in. Costs nothing once it is done.

# need_packages FILE...: installs what the lists name and this machine lacks.
need_packages() {
  local wanted present missing
  wanted=$(sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$@" | sort -u)
  if ! command -v dpkg-query >/dev/null; then
    say "no dpkg here, so packages are not checked; the lists of what is needed: $*"
    return
  fi
  # dpkg-query fails when it does not know one of the names, and still prints the others.
  # shellcheck disable=SC2086  # a list of words is meant
  present=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $wanted 2>/dev/null | sed -n 's/^installed //p' | sort -u) || true
  missing=$(comm -23 <(echo "$wanted") <(echo "$present") | tr '\n' ' ')
  missing=${missing% }
  [[ -z $missing ]] && return

  if ((EUID != 0)); then
    say "Debian packages are missing, and installing them needs root. Run this once as root, then the same command again:"
    say "  apt-get update && apt-get install -y --no-install-recommends $missing"
    exit 1
  fi
  say "missing Debian packages: $missing"
  export DEBIAN_FRONTEND=noninteractive
  # An unreachable third-party source makes the update fail, but maybe not what is needed here: the install decides.
  stage "reading the package lists" apt-get update -q >&2 || say "apt-get update failed, trying with the lists that are there"
  # shellcheck disable=SC2086
  stage "installing $(wc -w <<<"$missing") Debian packages" \
    apt-get install -y -q --no-install-recommends -o Dpkg::Use-Pty=0 $missing >&2 ||
    die "apt-get could not install: $missing (its message is above; is this machine offline?)"
}

# need_environment FOLDER REQUIREMENTS: a Python environment with what the file pins, both named from the root. A stamp, written
# last, holds the hash of the file: after an interrupted attempt, or when the pins change, the environment is made anew.
need_environment() {
  local folder=$1 venv=$root/$1 requirements=$root/$2 wanted python
  wanted=$(sha256sum <"$requirements")
  if [[ -x $venv/bin/python && -f $venv/hocket-complete && $(<"$venv/hocket-complete") == "$wanted" ]]; then
    return
  fi
  if [[ -e $venv && ! -e $venv/hocket-complete && ! -e $venv/hocket-incomplete ]]; then
    die "$folder was not made by ./hk: move it out of the way, then run the same command again"
  fi

  # The system's Python first: the wheel is for that version, whatever a version manager puts before it.
  python=/usr/bin/python3
  [[ -x $python ]] || python=$(command -v python3) || die "no python3 on this machine"
  rm -rf "$venv"
  mkdir -p "$venv"
  touch "$venv/hocket-incomplete"
  quiet_stage "making the Python environment $folder" "$root/build/venv.log" "$python" -m venv "$venv" ||
    die "could not make $folder with $python (its message is above)"
  stage "installing $(grep -v '^#' "$requirements" | tr '\n' ' ')into $folder" \
    "$venv/bin/python" -m pip install --disable-pip-version-check -r "$requirements" >&2 || {
    say "pip could not install $2 (its message is above)"
    if [[ $folder == .venv ]]; then say "without libtorch: --torch off"; fi
    die "offline: put the wheels into a folder and run the same command with PIP_FIND_LINKS=FOLDER before it"
  }
  rm "$venv/hocket-incomplete"
  echo "$wanted" >"$venv/hocket-complete"
}

# need_python: .venv with libtorch.
need_python() {
  need_environment .venv scripts/requirements.txt
  if compgen -G "$root/.venv/lib/python3*/site-packages/torch/lib/libtorch_cuda.so" >/dev/null; then
    rm "$root/.venv/hocket-complete"
    touch "$root/.venv/hocket-incomplete"
    say "pip chose a CUDA build of torch, and hocket is built against the CPU one"
    die "point pip to the CPU wheels of PyTorch (PIP_INDEX_URL or PIP_FIND_LINKS) and run ./hk setup"
  fi
}

# One ./hk at a time sets up and builds in this tree; the lock goes when the process ends, however it ends.
take_turn() {
  local lock=$root/build/.hk-lock
  mkdir -p "$root/build" && touch "$lock" || die "cannot write in $root/build: is the tree somebody else's?"
  exec {turn}>"$lock"
  if ! flock --nonblock "$turn"; then
    say "another ./hk is building in this tree, waiting for it …"
    flock "$turn"
  fi
}
end_turn() { exec {turn}>&-; }
