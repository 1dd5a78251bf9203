#!/usr/bin/env bash
# The units as systemd reads them: no unknown or ill-formed line, exposure at most 2.0, with and
# without each drop-in. Usage: units_test.sh UNIT_FOLDER SOURCE_FOLDER. Prints one line per case in
# the test protocol TAP.
set -uo pipefail
units=$1 source=$2

if ! command -v systemd-analyze >/dev/null; then
  echo "1..0 # SKIP systemd-analyze is not installed"
  exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
number=0

# report NAME STATUS LOG
report() {
  number=$((number + 1))
  if [ "$2" -eq 0 ]; then
    echo "ok $number - $1"
  else
    echo "not ok $number - $1"
    sed 's/^/# /' "$3"
  fi
}

# A program that is not installed makes verify fail whatever the unit says, so /bin/true stands in.
stage() {
  rm -rf "$work/units" && mkdir "$work/units"
  local name
  for name in modeld dmonitoringmodeld; do
    sed -E 's|^ExecStart=[^ ]+|ExecStart=/bin/true|' "$units/$name.service" >"$work/units/$name.service"
  done
  cp "$source/modeld.target" "$work/units/"
}

verify() {
  (cd "$work/units" && systemd-analyze verify --recursive-errors=yes --man=no ./modeld.target \
    ./modeld.service ./dmonitoringmodeld.service) >"$work/log" 2>&1
}

exposure() {  # UNIT LIMIT, in tenths
  (cd "$work/units" && systemd-analyze security --offline=true --no-pager --threshold="$2" "./$1") \
    >"$work/log" 2>&1
}

stage
verify
report "units verify" $? "$work/log"
for name in modeld dmonitoringmodeld; do
  exposure "$name.service" 20
  report "$name exposure at most 2.0" $? "$work/log"
done

# What must hold whatever else changes: no network family but unix, no capability, no foreign device.
for line in RestrictAddressFamilies=AF_UNIX CapabilityBoundingSet= DevicePolicy=closed \
  NoNewPrivileges=yes ProtectSystem=strict 'RestartPreventExitStatus=2 3' Type=notify; do
  grep -qxF "$line" "$work/units/modeld.service" && grep -qxF "$line" "$work/units/dmonitoringmodeld.service"
  report "both units say $line" $? /dev/null
done

# The process's own sandbox needs these; @system-service of systemd 252 does not hold them.
for name in modeld dmonitoringmodeld; do
  grep -qE '^SystemCallFilter=landlock_create_ruleset landlock_add_rule landlock_restrict_self seccomp$' "$work/units/$name.service"
  report "$name may confine itself" $? /dev/null
done

for drop_in in "$source"/drop-ins/*.conf; do
  stage
  mkdir "$work/units/modeld.service.d"
  cp "$drop_in" "$work/units/modeld.service.d/"
  verify
  report "units verify with $(basename "$drop_in")" $? "$work/log"
  head -1 "$drop_in" | grep -q '^# '
  report "$(basename "$drop_in") says why" $? /dev/null
done

# A line systemd does not know must be noticed by this very test.
stage
echo 'NoSuchLine=yes' >>"$work/units/modeld.service"
if verify; then status=1; else status=0; fi
report "an unknown line is noticed" "$status" "$work/log"

echo "1..$number"
