# `./hk lint` and `./hk format`. Uses $root, $all, $jobs.

# Our C++ files, tracked or not yet.
own_files() {
  local folder folders=()
  for folder in src include tools tests bench examples python; do
    if [[ -d $root/$folder ]]; then folders+=("$folder"); fi
  done
  (cd "$root" && find "${folders[@]}" -type f \( -name '*.cpp' -o -name '*.h' \) | LC_ALL=C sort)
}

format_in_place() {
  need_packages "$root/scripts/packages-dev.txt"
  (cd "$root" && own_files | xargs -r clang-format -i)
  say "formatted $(own_files | wc -l) files"
}

# Runs every check, so that one call shows all there is to mend.
lint() {
  local failed=()
  take_turn
  set_up
  configure
  end_turn
  stage "clang-format" format_check || failed+=("clang-format: run ./hk format")
  stage "include rules" python3 -B "$root/tests/includes/check_includes.py" || failed+=("include rules: see src/README.md")
  stage "names of types" python3 -B "$root/tests/includes/check_names.py" || failed+=("two types of one name: rename one")
  stage "shell syntax" shell_check || failed+=("shell syntax")
  stage "clang-tidy" python3 -B "$root/scripts/tidy.py" --build "$(build_folder)" --jobs "$jobs" \
    ${all:+--all} || failed+=("clang-tidy")
  if ((${#failed[@]})); then
    printf 'hk: failed: %s\n' "${failed[@]}" >&2
    return 1
  fi
  say "lint: nothing to mend"
}

format_check() { (cd "$root" && own_files | xargs -r clang-format --dry-run -Werror); }

shell_check() {
  local script
  for script in "$root/hk" "$root/.ci/run" "$root"/scripts/*.sh; do bash -n "$script" || return; done
  if command -v shellcheck >/dev/null; then
    shellcheck -x -P "$root" "$root/hk" "$root/.ci/run" "$root/scripts/hk_test.sh"
  fi
}
