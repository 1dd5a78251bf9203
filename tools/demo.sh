#!/usr/bin/env bash
# One command from a checkout to both daemons running on real frames. Arguments go to
# `modelctl demo` (try --help).
set -euo pipefail
cd "$(dirname "$0")/.."

tools/setup.sh build
. tools/build_env.sh
configure build -Dtests=false
ninja -C build
exec build/tools/modelctl/modelctl demo "$@"
