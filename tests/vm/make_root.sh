#!/usr/bin/env bash
# Makes a Debian 12 guest in FOLDER: FOLDER/root (systemd, udev, dbus) and, with `kernel`, a kernel
# with its modules: FOLDER/vmlinuz. Needs root and mmdebstrap. Done once; a complete folder is left
# as it is. Usage: make_root.sh FOLDER [kernel]
set -euo pipefail
folder=$1 want_kernel=${2:-}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

# Modules the guest script loads; what they depend on comes with them.
modules=(autofs4 9p 9pnet_virtio vgem cirrus vcan can_raw)

make_root() {
  rm -rf "$folder/root.new"
  # The package lists this machine trusts, main parts of bookworm only.
  local sources
  sources=$(apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' \
    'Created-By: Packages' | grep -E ' (bookworm|bookworm-updates) main$' | sort -u)
  nice mmdebstrap --mode=root --variant=minbase --quiet \
    --include=systemd-sysv,udev,dbus,kmod,iproute2,libdrm2 \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    bookworm "$folder/root.new" - <<<"$sources"
  quieten "$folder/root.new"
  rm -rf "$folder/root"
  mv "$folder/root.new" "$folder/root"
}

# No first-boot work, no terminal, no network services: what is not tested only costs time.
quieten() {
  local root=$1 units=$1/etc/systemd/system unit
  mkdir -p "$units" "$root/mnt/in" "$root/mnt/out"
  echo 0123456789abcdef0123456789abcdef >"$root/etc/machine-id"
  echo modeld-test >"$root/etc/hostname"
  : >"$root/etc/fstab"
  for unit in systemd-timesyncd systemd-resolved systemd-networkd systemd-network-generator \
    systemd-random-seed systemd-update-utmp systemd-journal-flush systemd-firstboot \
    serial-getty@ttyS0 getty@tty1 console-getty; do
    ln -sf /dev/null "$units/$unit.service"
  done
  for unit in dev-hugepages dev-mqueue sys-kernel-debug sys-kernel-tracing; do
    ln -sf /dev/null "$units/$unit.mount"
  done
  cat >"$units/guest-test.service" <<'UNIT'
[Unit]
After=basic.target dbus.service
Wants=dbus.service
SuccessAction=poweroff-force
FailureAction=poweroff-force
[Service]
Type=oneshot
TimeoutStartSec=900
ExecStart=/usr/local/sbin/guest-start
UNIT
  printf '[Unit]\nRequires=basic.target\nAfter=basic.target\nWants=guest-test.service\nAllowIsolate=yes\n' \
    >"$units/guest-test.target"
  ln -sf guest-test.target "$units/default.target"
}

# The kernel of bookworm's own 6.12 series: it has udmabuf, dma-heaps, vgem and vcan.
add_kernel() {
  local package version module file
  package=$(apt-cache depends linux-image-6.12-amd64 | awk '/Depends: linux-image-6/{print $2}')
  version=${package#linux-image-}
  [ -n "$version" ] || { echo "make_root: no package linux-image-6.12-amd64" >&2; exit 1; }
  rm -rf "$folder/kernel" && mkdir "$folder/kernel"
  (cd "$folder/kernel" && apt-get download -q "$package" >/dev/null && dpkg -x "$package"_*.deb .)
  depmod -b "$folder/kernel" "$version"
  for module in "${modules[@]}"; do
    modprobe -S "$version" -d "$folder/kernel" --show-depends "$module" | awk '$1 == "insmod" {print $2}'
  done | sort -u | while read -r file; do
    install -D "$file" "$folder/root/lib/modules/$version/${file#*/modules/"$version"/}"
  done
  cp "$folder/kernel/lib/modules/$version"/modules.{builtin,builtin.modinfo,order} \
    "$folder/root/lib/modules/$version/"
  depmod -b "$folder/root" "$version"
  cp "$folder/kernel/boot/vmlinuz-$version" "$folder/vmlinuz"
  rm -rf "$folder/kernel"
}

[ -d "$folder/root" ] || make_root
if [ "$want_kernel" = kernel ] && [ ! -f "$folder/vmlinuz" ]; then add_kernel; fi
