#!/bin/bash
# Runs as root in the guest under a real systemd: installs the build, starts the units, breaks them.
# Prints TAP; exits 1 if any case failed. /mnt/in holds tree/ (an installed build with its
# libraries), models/, keys/.
set -u
number=0 failed=0
virtual=no  # a machine with its own kernel: devices, CAN and cgroup rules can be shown
systemd-detect-virt -cq || virtual=yes

report() {  # NAME STATUS
  number=$((number + 1))
  if [ "$2" -eq 0 ]; then echo "ok $number - $1"; return; fi
  echo "not ok $number - $1"
  failed=1
  journalctl -b -n 5 -o cat --no-pager -u modeld -u dmonitoringmodeld | sed 's/^/#   /'
}
expect() {  # NAME COMMAND...
  local name=$1
  shift
  "$@" >/dev/null 2>&1
  report "$name" $?
}
refuse() {  # NAME COMMAND...
  local name=$1
  shift
  if "$@" >/dev/null 2>&1; then report "$name" 1; else report "$name" 0; fi
}
skip() { number=$((number + 1)); echo "ok $number - $1 # SKIP $2"; }

until_true() {  # SECONDS COMMAND...
  local end=$((SECONDS + $1))
  shift
  while ! "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.2
  done
}
property() { systemctl show "$1" -P "$2"; }
has_property() { [ "$(property "$1" "$2")" = "$3" ]; }
journal_has() { journalctl -b -o cat --no-pager -u "$1" | grep -q -- "$2"; }
active() { has_property "$1" ActiveState active; }
# One message of a topic, as the daemons' group sees it.
heard() {  # TOPIC PATTERN
  timeout 5 modelctl dump "$1" --count 1 --json | grep -q -- "$2"
}
valid_answer() { timeout 5 modelctl dump "$1" --count 20 --json | grep -q '"valid": *true'; }
# A command under the confinement of a unit, without the program: the sandbox alone is tried.
confined() {
  local options=() line
  while read -r line; do options+=(-p "$line"); done < <(
    sed -n '/^\[Service\]/,/^\[/p' /usr/lib/systemd/system/modeld.service |
      grep -E '^(Restrict|Private|Device|Capability|Ambient|NoNew|Protect|ReadWrite|Proc|SystemCall|Lock|User|Group|IPAddress|Keyring|Limit)')
  systemd-run -q --wait --pipe "${options[@]}" "$@"
}

cp -a /mnt/in/tree/. / || { echo 'Bail out! the build cannot be installed'; exit 1; }
ldconfig
install -m 755 /mnt/in/probe /usr/local/bin/probe
systemd-sysusers && systemd-tmpfiles --create 2>/dev/null
install -d /etc/modeld/keys /var/lib/modeld /data/params/d
install -m 644 /mnt/in/keys/*.pub /etc/modeld/keys/
install -m 644 /mnt/in/models/*.model /var/lib/modeld/
systemctl daemon-reload
units="dmonitoringmodeld modeld"

expect "the user exists" getent passwd modeld
expect "the topic folder is the group's" [ "$(stat -c %U:%G:%a /run/modeld)" = modeld:modeld:775 ]

run_daemons() {
  # READY
  for unit in $units; do
    expect "$unit is ready after its self-test" timeout 60 systemctl start $unit
    expect "$unit: self-test came before READY" journal_has $unit "self-test passed"
    expect "$unit: sandbox complete" journal_has $unit "sandbox complete"
    expect "$unit: runs as modeld" [ "$(stat -c %U /proc/"$(property $unit MainPID)")" = modeld ]
    expect "$unit: has no capability" grep -q 'CapEff:.0000000000000000' /proc/"$(property $unit MainPID)"/status
    expect "$unit: status names the state" until_true 5 sh -c "systemctl show $unit -P StatusText | grep -q waitingForFrames"
    score=$(systemd-analyze security $unit --no-pager 2>/dev/null | sed -n 's/.*Overall exposure level.*: \([0-9.]*\) .*/\1/p')
    expect "$unit: exposure at most 2.0 (is ${score:-unknown})" awk "BEGIN {exit !(\"$score\" != \"\" && $score + 0 <= 2.0)}"
  done
  expect "journal carries the program's fields" sh -c \
    "journalctl -b -u dmonitoringmodeld -o json | grep -q '\"SYSLOG_IDENTIFIER\":\"dmonitoringmodeld\"'"

  # Frames
  systemd-run -q --unit=camera -p User=modeld -p UMask=0007 -p PermissionsStartOnly=yes \
    -p "ExecStartPre=/bin/chown modeld /data/params/d" \
    modelctl camera --messages --params-dir /data/params/d
  expect "dmonitoringmodeld answers frames" until_true 20 valid_answer driverStateV2
  expect "modeld answers frames" until_true 30 valid_answer modelV2
  systemctl restart camera
  expect "answers again after the camera server restarted" until_true 20 valid_answer driverStateV2
  expect "health says the audit passed" heard dmonitoringmodeldHealth '"audit": *"passed"'

  # Failure and restart
  unit=dmonitoringmodeld
  restarts=$(property $unit NRestarts)
  signal() { local pid; pid=$(property "$unit" MainPID) && [ "$pid" -gt 1 ] && kill "$1" "$pid"; }
  expect "kill -9 is sent" signal -9
  expect "kill -9: started again" until_true 10 has_property $unit NRestarts $((restarts + 1))
  expect "kill -9: ready again" until_true 30 active $unit
  expect "SIGSTOP is sent" signal -STOP
  expect "hang: killed by the watchdog" until_true 15 journal_has $unit "Watchdog timeout"
  expect "hang: started again" until_true 20 has_property $unit NRestarts $((restarts + 2))
  expect "hang: ready again" until_true 30 active $unit
  # Device work in processes of its own
  sed -i 's/^isolation = .*/isolation = "process"/' /etc/modeld/$unit.toml
  expect "device work moves into an executor" grep -q '^isolation = "process"' /etc/modeld/$unit.toml
  systemctl restart $unit
  child() {  # PARENT NAME: the process of that name among its children
    local each
    for each in $(cat "/proc/$1/task/$1/children"); do
      [ "$(cat "/proc/$each/comm")" = "$2" ] && { echo "$each"; return; }
    done
    return 1
  }
  spawner() { child "$(property $unit MainPID)" spawner; }
  executor() { child "$(spawner)" executor; }
  expect "an executor works" until_true 10 executor
  expect "it answers frames" until_true 20 valid_answer driverStateV2
  restarts=$(property $unit NRestarts)
  before=$(executor)
  expect "kill -9 of the executor is sent" kill -9 "$before"
  expect "kill -9 of the executor: another one answers" until_true 20 sh -c \
    "modeld_health() { timeout 5 modelctl dump dmonitoringmodeldHealth --count 1 --json; }; modeld_health | grep -q '\"executorRestarts\": *1'"
  expect "kill -9 of the executor: frames are answered" until_true 20 valid_answer driverStateV2
  expect "kill -9 of the executor: the daemon stayed" has_property $unit NRestarts "$restarts"
  expect "kill -9 of the spawner is sent" kill -9 "$(spawner)"
  expect "kill -9 of the spawner: the unit is started again" until_true 30 has_property $unit NRestarts $((restarts + 1))
  expect "kill -9 of the spawner: frames are answered" until_true 30 valid_answer driverStateV2
  begin=$(date +%s%N)
  systemctl stop $unit
  took=$((($(date +%s%N) - begin) / 1000000))
  expect "stops cleanly" has_property $unit Result success
  expect "stops within the second (took $took ms)" [ $took -lt 1000 ]

  # What must not be tried again
  printf '\1' | dd of=/var/lib/modeld/monitoring.model bs=1 seek=200000 conv=notrunc status=none
  systemctl reset-failed $unit
  refuse "an altered model does not start" timeout 60 systemctl start $unit
  expect "it says so by exit code 3" has_property $unit ExecMainStatus 3
  sleep 1.5
  expect "and is not restarted" has_property $unit ActiveState failed
}

if [ "$virtual" = no ]; then
  run_daemons
else
  # Vector code on an emulated processor takes longer than a self-test may.
  skip "the daemons start, answer, fail and are restarted" "emulated processor: run --container for this"
fi

# What must be out of reach
if [ "$virtual" = yes ]; then
  modprobe -a vcan can_raw vgem cirrus
  udevadm settle -t 20
  ip link add vcan0 type vcan && ip link set vcan0 up
  expect "CAN works outside the sandbox" probe can vcan0
  refuse "CAN is out of reach inside" confined probe can vcan0
  expect "udmabuf opens outside the sandbox" probe open /dev/udmabuf
  refuse "udmabuf is out of reach inside" confined probe open /dev/udmabuf
  expect "a frame in a udmabuf is read" probe frame udmabuf
  expect "a frame exported by PRIME (vgem) is read" probe frame vgem
  expect "a udmabuf imported by PRIME (vgem) is the same frame" probe import vgem
  expect "a udmabuf imported by PRIME (cirrus) is the same frame" probe import cirrus
  expect "real-time priority can be asked for inside" confined chrt -f 12 true
else
  skip "CAN" "a container shares its host's kernel, which may have no CAN"
  skip "devices" "a container has no device rules of its own"
fi
expect "the topic folder can be written inside" confined probe make /run/modeld/probe
refuse "the rest of the system cannot" confined probe make /usr/probe

echo "1..$number"
exit $failed
