# Configuring and building for ./hk. Uses $root, $preset, $torch, $jobs, $contestants.

# Where the preset is built: build/release, or build/release-core without libtorch.
preset_name() {
  if [[ $torch == off ]]; then echo "$preset-core"; else echo "$preset"; fi
}
build_folder() { echo "$root/build/$(preset_name)"; }

# Everything that has to be there before CMake can run.
set_up() {
  local lists=("$root/scripts/packages.txt")
  case $preset in fuzz | lint) lists+=("$root/scripts/packages-dev.txt") ;; esac
  need_packages "${lists[@]}"
  if [[ $torch == on ]]; then need_python; fi
  if [[ ${contestants:-} ]]; then need_environment .cache/contestants scripts/requirements-contestants.txt; fi
}

# Configures unless that was done before for the same request; ninja notices changes of the CMake files by itself.
configure() {
  local folder request
  folder=$(build_folder)
  request="$root $preset torch=$torch CXX=${CXX:-} CXXFLAGS=${CXXFLAGS:-} LDFLAGS=${LDFLAGS:-}"
  if [[ $torch == on ]]; then request+=" $(<"$root/.venv/hocket-complete")"; fi
  # contestants of bench_comm
  request+=" $(command -v mpicc.openmpi mpicc.mpich | tr '\n' ' ')" || true
  request+=" $(cat "$root/.cache/contestants/hocket-complete" 2>/dev/null)" || true
  if [[ -f $folder/build.ninja && -f $folder/.hk-request && $(<"$folder/.hk-request") == "$request" ]]; then
    return
  fi
  mkdir -p "$folder"
  quiet_stage "configuring build/$(preset_name)" "$folder/configure.log" \
    cmake -S "$root" --fresh --preset "$(preset_name)" || die "cmake could not configure (its message is above)"
  echo "$request" >"$folder/.hk-request"
}

# build TARGET...: sets up, configures and builds; without a target, everything.
build() {
  local folder start=$EPOCHREALTIME took
  folder=$(build_folder)
  take_turn
  set_up
  configure
  # Lets ccache look through the precompiled header of the torch room.
  CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros} \
    cmake --build "$folder" --parallel "$jobs" ${1+--target "$@"} >&2 ||
    die "the build of build/$(preset_name) failed (the compiler's message is above)"
  if [[ ! -e $root/build/hocket ]]; then link_command; fi
  end_turn
  took=$(seconds_since "$start")
  if [[ ${took%.*} -ge 1 ]]; then say "build/$(preset_name) is up to date, after $took s"; fi
}

# build/hocket is the command as it was built last.
link_command() {
  local name
  name=$(preset_name)
  if [[ -x $root/build/$name/bin/hocket ]]; then ln -sfn "$name/bin/hocket" "$root/build/hocket"; fi
}
