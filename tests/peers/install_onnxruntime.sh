#!/bin/sh
# Installs ONNX Runtime (MIT) for tests. Usage: install_onnxruntime.sh FOLDER
# Nothing of it is run at installation and nothing is built; the archive carries the library. Exit
# code 77 and one line with the reason where it cannot be had.
set -u
folder=$1
version=1.30.0
package=$folder/node_modules/onnxruntime-node

# Two test programs may ask at once; the second finds the work done.
mkdir -p "$folder" || exit 1
if command -v flock >/dev/null && [ -z "${MODELD_PEERS_LOCKED:-}" ]; then
  MODELD_PEERS_LOCKED=1 exec flock -w 300 "$folder/lock" "$0" "$@"
fi

grep -qs "\"version\": \"$version\"" "$package/package.json" && exit 0
command -v node >/dev/null || { echo "node is not installed"; exit 77; }
command -v npm >/dev/null || { echo "npm is not installed"; exit 77; }
log=$folder/npm.log
if ! timeout 240 npm install --prefix "$folder" --ignore-scripts --no-audit --no-fund --no-save \
    --fetch-retries 1 --fetch-timeout 30000 "onnxruntime-node@$version" >"$log" 2>&1; then
  reason=$(grep -m1 -i 'err' "$log" || tail -n1 "$log")
  echo "npm could not fetch onnxruntime-node $version: $reason"
  exit 77
fi
# The archive holds every platform.
rm -rf "$package"/bin/napi-v*/darwin "$package"/bin/napi-v*/win32
