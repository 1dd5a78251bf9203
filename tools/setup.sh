#!/usr/bin/env bash
# Installs the Debian 12 packages that are missing. Usage: tools/setup.sh build|test
# `build` is what the two daemons and modelctl need, `test` adds what the tests need.
set -euo pipefail

build_packages=(
  g++ meson ninja-build pkg-config ccache
  capnproto libcapnp-dev            # wire messages, artifact manifest
  libzmq3-dev cppzmq-dev            # transport
  libspdlog-dev libfmt-dev          # logs
  libtomlplusplus-dev               # configuration
  libcli11-dev nlohmann-json3-dev   # command lines and --json
  libssl-dev                        # SHA-256, Ed25519
  libdnnl-dev                       # cpu backend
  ocl-icd-opencl-dev opencl-headers # opencl backend
  libdrm-dev                        # opencl backend: what the kernel knows of a device
  libonnx-dev libprotobuf-dev       # compiler (never linked into a daemon)
  libyuv-dev libpng-dev libjpeg-dev # pictures for demo and camera tool
  libsystemd-dev                    # readiness notification
  libseccomp-dev                    # the daemons' sandbox
  libavcodec-dev libavformat-dev libavutil-dev  # video of recorded routes (modelctl only)
  libzstd-dev libbz2-dev            # recorded logs (modelctl only)
)
test_packages=(
  libgtest-dev libgmock-dev
  libzip-dev                        # .npz vectors
  pocl-opencl-icd                   # an OpenCL device on the processor
  libonnx-testdata                  # tests: single-operator cases
  systemd                           # verifies the units
  python3                           # counts the test cases
  clang libclang-rt-14-dev libomp-dev # build with sanitizers, fuzzing
)

fail() {
  echo "setup: $*" >&2
  exit 1
}

case "${1:-}" in
  build) wanted=("${build_packages[@]}") ;;
  test) wanted=("${build_packages[@]}" "${test_packages[@]}") ;;
  *) fail "usage: tools/setup.sh build|test" ;;
esac

command -v apt-get >/dev/null || fail "this script needs apt-get (Debian 12); install by hand: ${wanted[*]}"

missing=()
for package in "${wanted[@]}"; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || fail "not root and no sudo; install by hand: ${missing[*]}"
  as_root=(sudo)
fi
echo "setup: installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { "${as_root[@]}" apt-get update -q &&
       "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
         apt-get install -y -q --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  tail -5 "$log" >&2
  fail "apt-get could not install: ${missing[*]}"
fi
