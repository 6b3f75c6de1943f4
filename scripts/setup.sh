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

# need_python: makes .venv with what scripts/requirements.txt pins. A stamp, written last, holds the hash of that file:
# after an interrupted attempt, or when the pins change, the environment is made anew.
need_python() {
  local venv=$root/.venv requirements=$root/scripts/requirements.txt wanted python
  wanted=$(sha256sum <"$requirements")
  if [[ -x $venv/bin/python && -f $venv/hocket-complete && $(<"$venv/hocket-complete") == "$wanted" ]]; then
    return
  fi
  if [[ -e $venv && ! -e $venv/hocket-complete && ! -e $venv/hocket-incomplete ]]; then
    die ".venv was not made by ./hk: move it out of the way, then run the same command again"
  fi

  # The system's Python first: the wheel is for that version, whatever a version manager puts before it.
  python=/usr/bin/python3
  [[ -x $python ]] || python=$(command -v python3) || die "no python3 on this machine"
  rm -rf "$venv"
  mkdir "$venv"
  touch "$venv/hocket-incomplete"
  quiet_stage "making the Python environment .venv" "$root/build/venv.log" "$python" -m venv "$venv" ||
    die "could not make .venv with $python (its message is above)"
  stage "installing $(grep -v '^#' "$requirements" | tr '\n' ' ')into .venv" \
    "$venv/bin/python" -m pip install --disable-pip-version-check -r "$requirements" >&2 || {
    say "pip could not install scripts/requirements.txt (its message is above)"
    say "offline: put the wheels into a folder and run  PIP_FIND_LINKS=FOLDER ./hk setup"
    die "without libtorch: ./hk build --torch off"
  }
  if compgen -G "$venv/lib/python3*/site-packages/torch/lib/libtorch_cuda.so" >/dev/null; then
    say "pip chose a CUDA build of torch, and hocket is built against the CPU one"
    die "point pip to the CPU wheels of PyTorch (PIP_INDEX_URL or PIP_FIND_LINKS) and run ./hk setup"
  fi
  rm "$venv/hocket-incomplete"
  echo "$wanted" >"$venv/hocket-complete"
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
