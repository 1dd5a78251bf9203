#!/usr/bin/env bash
# Every test, in three builds: plain, without hand-written SIMD, and with the address and
# undefined-behaviour sanitizers. The last line is `N passed, N failed, N skipped`, counting test
# cases of all three. Needs up to 25 minutes and 4 GB on two cores; safe to run again.
set -uo pipefail
cd "$(dirname "$0")/.."

stop() {
  echo "check: $*" >&2
  exit 1
}

tools/setup.sh test || stop "set-up failed"
. tools/build_env.sh

export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:abort_on_error=0
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1

# run_build FOLDER OPTION...: configures, builds and tests; the results are read at the end.
run_build() {
  local folder=$1
  shift
  echo "== $folder: build"
  configure "$folder" -Dwerror=true "$@" || stop "$folder could not be configured"
  ninja -C "$folder" >"$folder/ninja.log" 2>&1 || {
    grep -aE 'error|FAILED' "$folder/ninja.log" | head -20 >&2
    stop "$folder does not build (whole log: $folder/ninja.log)"
  }
  echo "== $folder: test"
  rm -f "$folder"/meson-logs/testlog.junit.xml
  nice meson test -C "$folder" --no-rebuild --print-errorlogs --timeout-multiplier 4 \
    >"$folder/test.log" 2>&1 || grep -aE '^ *[0-9]+/[0-9]+ .*(FAIL|TIMEOUT|ERROR)' "$folder/test.log"
}

run_build build -Dtests=true
run_build build-nosimd -Dsimd=false
run_build build-asan -Db_sanitize=address,undefined -Db_lundef=false

exec python3 tools/count_tests.py build build-nosimd build-asan
