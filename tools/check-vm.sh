#!/usr/bin/env bash
# The units under a real systemd: installs this build in a Debian 12 guest, starts the daemons,
# breaks them. Needs root. Usage: tools/check-vm.sh [--container]
#   (nothing)     a virtual machine with its own kernel: CAN, devices, real-time priority. Its
#                 processor is emulated, too slow for the daemons' self-test: they are not started
#   --container   systemd-nspawn on this kernel: the daemons start, answer, fail and are restarted
# The guest is kept in ${MODELD_VM:-build/vm}, and what it printed (TAP) in out/log.txt there. Exit
# status 0 only if every case passed; 77 where this machine cannot make or boot a guest.
set -euo pipefail
cd "$(dirname "$0")/.."

stop() {
  echo "check-vm: $*" >&2
  exit 1
}
cannot() {
  echo "check-vm: $*" >&2
  exit 77
}

kind=vm
case "${1:-}" in
  "") ;;
  --container) kind=container ;;
  *) stop "usage: tools/check-vm.sh [--container]" ;;
esac
[ "$(id -u)" -eq 0 ] || cannot "needs root (it makes and boots a guest)"

tools/setup.sh build || stop "set-up failed"
packages=(mmdebstrap systemd-container)
[ $kind = vm ] && packages+=(qemu-system-x86 cpio kmod xz-utils)
missing=()
for package in "${packages[@]}"; do
  dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" \
    >/dev/null || cannot "could not install ${missing[*]}"
fi

. tools/build_env.sh
folder=${MODELD_VM:-build/vm}
configure build >/dev/null || stop "build could not be configured"
echo "== build"
ninja -C build daemon/modeld daemon/dmonitoringmodeld tools/modelctl/modelctl tests/vm/vm_probe \
  >build/vm-build.log || { tail -20 build/vm-build.log; stop "does not build"; }
echo "== guest"
if [ $kind = vm ]; then
  tests/vm/make_root.sh "$folder" kernel || cannot "no guest could be made"
else
  tests/vm/make_root.sh "$folder" || cannot "no guest could be made"
fi
folder=$(cd "$folder" && pwd)

# What goes into the guest: an installation for /usr, the libraries it links, models and a key.
stage() {
  local in=$folder/in tree=$folder/in/tree name library
  rm -rf "$in" && mkdir -p "$in/models" "$in/keys" "$tree"/{usr/bin,usr/lib/systemd/system,etc/modeld}
  mkdir -p "$tree"/usr/lib/{sysusers.d,tmpfiles.d}
  cp build/daemon/modeld build/daemon/dmonitoringmodeld build/tools/modelctl/modelctl "$tree/usr/bin/"
  cp build/tests/vm/vm_probe "$in/probe"
  cp config/modeld.toml config/dmonitoringmodeld.toml "$tree/etc/modeld/"
  for name in modeld dmonitoringmodeld; do
    sed -e "s|^ExecStart=[^ ]*/$name --config .*|ExecStart=/usr/bin/$name --config /etc/modeld/$name.toml|" \
      "build/systemd/$name.service" >"$tree/usr/lib/systemd/system/$name.service"
  done
  cp systemd/modeld.target "$tree/usr/lib/systemd/system/"
  cp systemd/modeld.sysusers "$tree/usr/lib/sysusers.d/modeld.conf"
  cp systemd/modeld.tmpfiles "$tree/usr/lib/tmpfiles.d/modeld.conf"
  ldd build/daemon/modeld build/tools/modelctl/modelctl build/tests/vm/vm_probe | awk '/=> \//{print $3}' | sort -u |
    while read -r library; do
      # /lib is a link to /usr/lib in the guest.
      [ -e "$folder/root$library" ] ||
        install -D "$(readlink -f "$library")" "$tree/usr/${library#/usr/}"
    done
  build/tools/modelctl/modelctl keygen "$in/keys/test" >/dev/null
  for name in driving monitoring; do
    build/tools/modelctl/modelctl sample $name -o "$in/$name.onnx" >/dev/null
    build/tools/modelctl/modelctl compile "$in/$name.onnx" --pipeline config/pipelines/$name.toml \
      -o "$in/models/$name.model" --sign "$in/keys/test.key" >/dev/null
    rm "$in/$name.onnx"
  done
  rm "$in/keys/test.key"
  cp tests/vm/guest_test.sh "$in/run.sh"
  install -m 755 tests/vm/guest_start.sh "$folder/root/usr/local/sbin/guest-start"
}

boot_container() {
  timeout -k 5 500 systemd-nspawn -q -D "$folder/root" --volatile=overlay --register=no --keep-unit \
    --console=pipe --private-network --system-call-filter=landlock_create_ruleset \
    --system-call-filter=landlock_add_rule --system-call-filter=landlock_restrict_self \
    --bind-ro="$folder/in:/mnt/in" --bind="$folder/out:/mnt/out" --boot \
    </dev/null >"$folder/out/console.txt" 2>&1 || true
}

# One processor: with more, qemu 7.2 crashes a guest that patches its own code.
boot_vm() {
  (cd "$folder/root" && find . -xdev | cpio -o -H newc --quiet) >"$folder/root.cpio"
  nice timeout -k 5 1500 qemu-system-x86_64 -accel tcg,thread=single -cpu max -smp 1 -m 3072 \
    -nodefaults -no-user-config -no-reboot -display none -monitor none \
    -serial "file:$folder/out/console.txt" -kernel "$folder/vmlinuz" -initrd "$folder/root.cpio" \
    -append "rdinit=/sbin/init console=ttyS0 loglevel=5 panic=-1 mitigations=off random.trust_cpu=on systemd.show_status=0" \
    -virtfs "local,path=$folder/in,mount_tag=in,security_model=none,readonly=on" \
    -virtfs "local,path=$folder/out,mount_tag=out,security_model=none" \
    -device virtio-rng-pci -device cirrus-vga </dev/null || true
}

stage
rm -rf "$folder/out" && mkdir "$folder/out"
echo "== boot ($kind)"
"boot_$kind"
[ -e "$folder/out/started" ] || {
  tail -20 "$folder/out/console.txt"
  cannot "the guest does not boot here"
}
[ -s "$folder/out/status" ] || { tail -20 "$folder/out/console.txt"; stop "the guest gave no result"; }
cat "$folder/out/log.txt"
count() { grep -cE "$1" "$folder/out/log.txt" || true; }
skipped=$(count '^ok .*# SKIP')
echo "$(($(count '^ok ') - skipped)) passed, $(count '^not ok ') failed, $skipped skipped"
exit "$(cat "$folder/out/status")"
