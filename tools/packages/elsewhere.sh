#!/usr/bin/env bash
# Runs the wheels where this machine's own Pythons do not reach, in roots made of Debian's packages:
#   amd64  Debian 11     glibc 2.31, Python 3.9
#   amd64  Debian 14     Python 3.14 and its glibc
#   arm64  Debian 12     Python 3.11, in an emulator
# Needs "make wheel", apt-get, and root for chroot; for arm64 qemu-user. The roots stay in .venv/oracles.
set -eu
cd "$(dirname "$0")/../.."
. tools/again.sh
failed=0

skip() { echo "skipped: $*"; }

# root NAME SUITE ARCHITECTURE PACKAGES...: unpacks packages with what they depend on into .venv/oracles/NAME. apt-get has its files there, so
# that nothing of this machine changes.
root() {
  local name=$1 suite=$2 architecture=$3 apt=$PWD/.venv/oracles/$1.apt part=$PWD/.venv/oracles/$1.part
  shift 3
  if [ -d ".venv/oracles/$name" ]; then return; fi
  rm -rf "$apt" "$part"
  mkdir -p "$apt"/{lists,cache/archives,none}/partial "$part"
  : >"$apt/status"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $suite main" >"$apt/sources.list"
  cat >"$apt/conf" <<END
Dir::State "$apt"; Dir::State::lists "$apt/lists"; Dir::State::status "$apt/status"; Dir::Cache "$apt/cache";
Dir::Etc::sourcelist "$apt/sources.list"; Dir::Etc::sourceparts "$apt/none"; Dir::Etc::preferencesparts "$apt/none"; Dir::Log "$apt";
APT::Architecture "$architecture"; APT::Architectures { "$architecture"; }; APT::Sandbox::User ""; Acquire::Languages "none"; APT::Install-Recommends "false";
END
  APT_CONFIG=$apt/conf again apt-get -qq update
  APT_CONFIG=$apt/conf again apt-get -qq -y --download-only install "$@"
  for package in "$apt"/cache/archives/*.deb; do dpkg-deb -x "$package" "$part"; done
  for folder in bin lib lib64; do # of newer releases these are links, which a package that is not unpacked has
    if [ ! -e "$part/$folder" ]; then ln -s "usr/$folder" "$part/$folder"; fi
  done
  rm -rf "$apt"
  mv "$part" ".venv/oracles/$name"
}

# install ROOT MACHINE: puts the wheel into opt/wheel of the root, and into job what the tests use.
install() {
  local root=$1 machine=$2
  rm -rf "$root/opt/wheel" "$root/job"
  mkdir -p "$root/job/triton" "$root/proc" "$root/dev" "$root/tmp"
  .venv/bin/python -m pip -q --disable-pip-version-check install --root-user-action ignore --no-index --no-deps --only-binary :all: --platform "manylinux_2_28_$machine" \
    --target "$root/opt/wheel" build/wheels/*"manylinux_2_28_$machine.whl"
  cp testdata/captures/vecadd.capture.gz hooks/python/tests/fake_gpu.py "$root/job"
  : >"$root/job/triton/__init__.py"
  cat >"$root/job/train.py" <<'END'
import triton.profiler as proton
import fake_gpu as gpu
gpu.init()
with proton.scope("step", metrics={"items": 3}):
    gpu.launch(gpu.function("kernel"))
gpu.synchronize()
assert proton.__name__ == "goproton"
END
}

# has_step FILE: whether the profile of train.py has its kernel in its scope.
has_step() {
  build/proton viewer -m items,count "$1" | tee -a "$1.txt" | grep -q '3 .* step' && grep -q '1 .* kernel' "$1.txt"
}

# same FILE: whether a replay of vecadd is that of this machine.
same() {
  build/proton run --backend replay --name "$1.here" testdata/captures/vecadd.capture.gz 2>/dev/null
  for file in "$1" "$1.here"; do build/proton viewer -m time/ns,count "$file.hatchet" >"$file.txt"; done
  cmp "$1.txt" "$1.here.txt"
}

# in_root NAME PYTHON: both tests, by the command of the wheel.
in_root() {
  local root=$PWD/.venv/oracles/$1 python=$2
  install "$root" x86_64
  cat >"$root/job/go.sh" <<END
set -eu
cd /job
export PATH=/opt/wheel/bin:/usr/bin:/bin TMPDIR=/tmp
$python -W error -m compileall -q /opt/wheel/goproton
goproton run --backend replay --name replayed vecadd.capture.gz
export LD_LIBRARY_PATH=/opt/wheel/goproton/stub PROTON_CUPTI_PATH=/opt/wheel/goproton/stub/libcupti.so
proton run --python $python train.py
$python -c 'import platform; print("ran with", platform.python_version(), *platform.libc_ver())'
END
  unshare --mount sh -c "mount -t proc proc '$root/proc' && mount --bind /dev '$root/dev' && exec chroot '$root' /bin/sh /job/go.sh" &&
    has_step "$root/job/train.hatchet" && same "$root/job/replayed"
}

# emulated NAME PYTHON: the same on arm64, without the command, which the emulator does not start programs for.
emulated() {
  local root=$PWD/.venv/oracles/$1 python=$2
  install "$root" aarch64
  local package=$root/opt/wheel/goproton libraries=$root/usr/lib/aarch64-linux-gnu:$root/lib/aarch64-linux-gnu
  emulate() { qemu-aarch64 -L "$root" -E LD_LIBRARY_PATH="$package/stub:$libraries" -E PROTON_LIB="$package/libproton.so" -E PROTON_CUPTI_PATH="$package/stub/libcupti.so" "$@"; }
  emulate "$root/opt/wheel/bin/goproton" --version || return
  PROTON_RUN_CONFIG="{\"name\": \"$root/job/train\", \"context\": \"shadow\", \"data\": \"tree\", \"hook\": \"triton\", \"status\": \"$root/job\"}" \
    emulate -E PYTHONHOME="$root/usr" -E PYTHONPATH="$package/bootstrap:$root/job" "$root/usr/bin/$python" "$root/job/train.py" || return
  gunzip -c testdata/captures/vecadd.capture.gz >"$root/job/capture"
  PROTON_RUN_CONFIG="{\"name\": \"$root/job/replayed\", \"status\": \"$root/job\"}" PROTON_STUB_CAPTURE=$root/job/capture \
    emulate "$package/proton-replay" "$root/job/capture" &&
    has_step "$root/job/train.hatchet" && same "$root/job/replayed"
}

# check WHAT SUITE ARCHITECTURE PYTHON TEST
check() {
  local what=$1 suite=$2 architecture=$3 python=$4 test=$5 name=debian-$2-$3
  if ! (root "$name" "$suite" "$architecture" "$python" "lib$python-stdlib" dash coreutils) >"build/$name.log" 2>&1; then
    skip "the wheel on $what: its packages cannot be fetched: $(tail -n 1 "build/$name.log")"
  elif ("$test" "$name" "$python"); then
    echo "works: the wheel on $what"
  else
    echo "FAILED: the wheel on $what"
    failed=1
  fi
}

if ! command -v apt-get dpkg-deb >/dev/null; then skip "the wheels elsewhere: there is no apt-get and dpkg-deb"; exit; fi
if [ "$(id -u)" != 0 ] || ! unshare --mount true 2>/dev/null; then
  skip "the wheel on Debian 11 and 14: chroot needs root"
else
  check "Debian 11 (glibc 2.31, Python 3.9)" bullseye amd64 python3.9 in_root
  check "Debian 14 (Python 3.14)" forky amd64 python3.14 in_root
fi
if command -v qemu-aarch64 >/dev/null; then
  check "arm64 (Debian 12, emulated)" bookworm arm64 python3.11 emulated
else
  skip "the wheel on arm64: there is no qemu-aarch64: install qemu-user"
fi
exit $failed
