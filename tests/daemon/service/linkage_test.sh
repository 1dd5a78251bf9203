#!/bin/sh
# The build domain (ONNX, protobuf) and the replay domain (libav) stay out of the daemons, also
# through the libraries they link.
set -eu
for program in "$@"; do
  libraries=$(ldd "$program")
  for forbidden in protobuf onnx libav libswscale; do
    if printf '%s\n' "$libraries" | grep -q "$forbidden"; then
      echo "FAIL: $program links $forbidden"
      exit 1
    fi
  done
  # A list that names nothing we know would pass the test above for the wrong reason.
  printf '%s\n' "$libraries" | grep -q 'libzmq' || { echo "FAIL: no libzmq in ldd $program"; exit 1; }
done
echo "no forbidden library in $*"
