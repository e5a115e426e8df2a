#!/usr/bin/env bash
# clean-room.sh [COMMAND...] runs a command (default: make test) as on a fresh machine. It clones HEAD and mounts the clone
# at the path of this checkout. Folders in which users install software by hand are empty: those of "hidden" below, the
# site-packages of Python, and HOME, which has only the settings of go, git, npm and pip. The toolchains and Go's caches
# are kept; with CLEAN_CACHE=1 the caches start empty. The files of the run, such as its logs, are in
# build/clean-room/goproton afterwards.
#
# It needs mount namespaces: root, or a kernel that allows user namespaces. Without them it exits with 125.
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- make test
checkout=$PWD
room=$checkout/build/clean-room
hidden=(/opt /tmp /var/tmp /mnt /srv /home /usr/local/cuda)

give_up() { echo "clean-room: $*" >&2; exit 125; }
namespace=(unshare --mount)
if [ "$(id -u)" != 0 ]; then namespace+=(--map-root-user); fi
command -v unshare >/dev/null || give_up "there is no unshare: install util-linux"
"${namespace[@]}" mount -t tmpfs tmpfs /mnt 2>/dev/null || give_up "this machine allows no mount namespace: run it as root, or in a container with CAP_SYS_ADMIN"

mkdir -p "$room"
exec 9>"$room.lock"
flock --nonblock 9 || give_up "another run is at work in $room"
rm -rf "$room"
mkdir -p "$room/home/.config" "$room/tmp"
chmod 1777 "$room/tmp"
git clone --quiet . "$room/goproton"
[ -z "$(git status --porcelain)" ] || echo "clean-room: uncommitted changes are not tested" >&2

# Toolchains and caches keep their paths, even below a hidden folder.
kept=("$(go env GOROOT)" "$(python3 -c 'import sys; print(sys.base_prefix)')")
if command -v node >/dev/null; then kept+=("$(dirname "$(dirname "$(node -p process.execPath)")")"); fi
if [ -d "${PIP_FIND_LINKS-}" ]; then kept+=("$PIP_FIND_LINKS"); fi
GOMODCACHE=$(go env GOMODCACHE) GOCACHE=$(go env GOCACHE)
if [ -n "${CLEAN_CACHE-}" ]; then
  GOMODCACHE=$room/gomodcache GOCACHE=$room/gocache
  export GOFLAGS="${GOFLAGS-} -modcacherw" # so that rm can remove it
fi
export GOMODCACHE GOCACHE
mkdir -p "$GOMODCACHE" "$GOCACHE"
kept+=("$GOMODCACHE" "$GOCACHE")
mapfile -t sites < <(python3 -c 'import os, site; print(*filter(os.path.isdir, site.getsitepackages()), sep="\n")')

for setting in .config/go .config/pip .gitconfig .npmrc .pip; do
  if [ -e "$HOME/$setting" ]; then cp -R "$HOME/$setting" "$room/home/$setting"; fi
done
unset TMPDIR VIRTUAL_ENV
while read -r name; do
  case $name in PROTON_* | TRITON_* | CUDA* | TORCH* | NV* | ROC* | HIP_* | LD_* | PYTHON* | CONDA* | XDG_*) unset "$name" ;; esac
done < <(compgen -e)

# Inside the namespace a kept folder is first bound to a temporary path, and back to its own when everything is hidden. The
# clone hides the checkout.
inside() {
  set -eu
  local away=/dev/shm/.clean-room place at i=0 backs=()
  mount -t tmpfs -o mode=1777 tmpfs /dev/shm
  aside() { # FOLDER PATH: the folder is mounted at this path later
    mkdir -p "$away/$i"
    mount --bind "$1" "$away/$i"
    backs+=("$away/$i" "$2")
    i=$((i + 1))
  }
  below() { case $1/ in "$2"/*) return 0 ;; esac; return 1; }
  aside "$room/tmp" /tmp # on disk, because tests may write more than fits in memory
  for at in "${kept[@]}"; do
    for place in "${hidden[@]}" "$checkout"; do
      if below "$at" "$place" && ! below "$at" "$checkout/build"; then aside "$at" "$at"; fi
    done
  done
  aside "$room/goproton" "$checkout"
  aside "$room/home" /mnt/home
  if [ -n "${CLEAN_CACHE-}" ]; then
    aside "$GOMODCACHE" /mnt/gomodcache
    aside "$GOCACHE" /mnt/gocache
    GOMODCACHE=/mnt/gomodcache GOCACHE=/mnt/gocache
  fi
  for place in "${hidden[@]}"; do
    if [ "$place" != /tmp ] && [ -d "$place" ]; then
      mount -t tmpfs -o mode=1777 tmpfs "$place"
    fi
  done
  for ((at = 0; at < ${#backs[@]}; at += 2)); do
    mkdir -p "${backs[at + 1]}"
    mount --bind "${backs[at]}" "${backs[at + 1]}"
    umount "${backs[at]}"
  done
  rmdir "$away"/* "$away"
  for place in "${sites[@]}"; do mount -t tmpfs tmpfs "$place"; done
  export HOME=/mnt/home
  cd "$checkout"
  exec "$@"
}
code=0
"${namespace[@]}" bash -c "$(declare -p hidden kept sites checkout room); $(declare -f inside); inside \"\$@\"" clean-room "$@" 9>&- || code=$?
rm -rf "$room/tmp"
exit $code
