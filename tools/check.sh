#!/usr/bin/env bash
# Every test plain, then those that differ without hand-written SIMD, then, with the address and
# undefined-behaviour sanitizers, all but those named below, and short runs of the fuzzers, then, with
# the thread sanitizer, the rooms with threads, and in CI, as root, the units in guests with a systemd
# of their own. The last line is `N passed, N failed, N skipped`, counting test cases of all four
# builds (a fuzzer is one) and of the guests. Safe to run again.
set -uo pipefail
cd "$(dirname "$0")/.."

stop() {
  echo "check: $*" >&2
  exit 1
}

tools/setup.sh test || stop "set-up failed"
. tools/build_env.sh

export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:abort_on_error=0
export LSAN_OPTIONS=suppressions=$PWD/tests/lsan.supp:print_suppressions=0
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1

# What does not run under the address sanitizer, and why; every other test does.
not_sanitized=(
  samples compile-forms replay-tool    # whole networks: minutes unoptimised, over code other tests run
  daemon-process                       # real time: unoptimised daemons answer no 20 Hz
  soak                                 # judges memory, of which the sanitizers keep what is freed
  daemon-linkage systemd-units count-tests  # run no code of ours
)
fuzzers=(artifact config event_log frame_records msgq_ring npy onnx replay_log safetensors)

# Rooms with threads, as far as nothing in them links OpenMP, whose own threads the thread sanitizer
# does not understand.
# (Of the others without it only replay, for its recorder, and daemon-process have threads: the one
# takes minutes to build, the other real time.)
threaded=(msgq ipc base config feed reference selftest daemon-health daemon-inputs daemon-engine
  daemon-loops daemon-supervise soak)

# Rooms whose code differs without hand-written SIMD.
without_simd=(warp cpu)

# build FOLDER OPTION...
build() {
  local folder=$1
  shift
  echo "== $folder: configure"
  configure "$folder" "$@" >/dev/null || stop "$folder could not be configured"
}

# run_tests FOLDER [TEST...]: builds what the tests need (all tests without names) and runs them;
# the results are read at the end.
run_tests() {
  local folder=$1
  shift
  echo "== $folder: build and test"
  # Results of an earlier run would speak for a program that crashes in this one.
  rm -f "$folder"/meson-logs/testlog.junit.xml "$folder"/*.xml
  nice meson test -C "$folder" --print-errorlogs --timeout-multiplier 4 "$@" \
    >"$folder/test.log" 2>&1
  [ -f "$folder/meson-logs/testlog.junit.xml" ] || {
    grep -aE 'error|FAILED' "$folder/test.log" | head -20 >&2
    stop "$folder does not build (whole log: $folder/test.log)"
  }
  grep -aE '^ *[0-9]+/[0-9]+ .*(FAIL|TIMEOUT|ERROR)' "$folder/test.log"
}

# Warnings are errors where we build. Elsewhere they are not, and objects of tools/demo.sh serve.
werror=false
[ "${CI:-}" = true ] && werror=true

build build -Dtests=true -Dwerror=$werror
run_tests build
build build-nosimd -Dsimd=false -Dwerror=$werror
run_tests build-nosimd "${without_simd[@]}"
# Clang, because it has libFuzzer and compiles instrumented code in half of g++'s time; without
# optimisation but for the loops (meson.build), because that halves it again.
echo "== build-sanitized: all but ${not_sanitized[*]}; fuzzers ${fuzzers[*]}"
CXX="ccache clang++" build build-sanitized -Dtests=true -Dfuzzers=true -Dwerror=$werror \
  -Db_sanitize=address,undefined -Db_lundef=false -Doptimization=0
mapfile -t sanitized < <(meson test -C build-sanitized --list 2>/dev/null |
  sed -n 's|^modeld / ||p' | grep -vxF "$(printf '%s\n' "${not_sanitized[@]}")")
[ "${#sanitized[@]}" -gt 20 ] || stop "only ${#sanitized[@]} tests found in build-sanitized"
run_tests build-sanitized "${sanitized[@]}" "${fuzzers[@]/#/fuzz_}"

echo "== build-tsan: rooms ${threaded[*]}"
# Without the second it sleeps at every exit, which executors that die are watched for.
export TSAN_OPTIONS="suppressions=$PWD/tests/tsan.supp:atexit_sleep_ms=0"
CXX="ccache clang++" build build-tsan -Dtests=true -Dwerror=$werror -Db_sanitize=thread \
  -Db_lundef=false -Doptimization=0
# Each frame of the soak costs 60 ms that way; the plain build drives for a minute.
SOAK_FRAMES=150 run_tests build-tsan "${threaded[@]}"

# system_test KIND [OPTION]: what the guest printed goes to build/KIND.tap.
system_test() {
  local kind=$1 status=0
  shift
  echo "== system test: $kind"
  if [ "${CI:-}" != true ]; then
    echo "1..0 # SKIP it takes minutes and root; by hand: tools/check-vm.sh $*" >"build/$kind.tap"
    return
  fi
  rm -f build/vm/out/log.txt
  tools/check-vm.sh "$@" >"build/$kind.log" 2>&1 || status=$?
  if [ $status -eq 77 ]; then
    echo "1..0 # SKIP $(tail -1 "build/$kind.log")" >"build/$kind.tap"
  elif [ -s build/vm/out/log.txt ]; then
    cp build/vm/out/log.txt "build/$kind.tap"
  else
    tail -20 "build/$kind.log"
    echo "not ok 1 - $(tail -1 "build/$kind.log")" >"build/$kind.tap"
  fi
}
system_test container --container
system_test vm

exec python3 tools/count_tests.py build build-nosimd build-sanitized build-tsan \
  build/container.tap build/vm.tap
