#!/usr/bin/env bash
# Builds everything into build/:
#   proton, proton-viewer    the command as one static file, and its other name
#   libproton.so             the runtime: injection library and Python extension module in one
#   libproton-preload.so     what "proton run" puts into LD_PRELOAD for programs that use HIP
#   python/                  the goproton package, and bootstrap/ with the sitecustomize of "proton run"
#   stub/                    libcupti and libcuda that replay a capture
#   proton-replay            the host program that replays a capture
#   proton-probe             the program through which "proton doctor" examines the driver
set -eu
cd "$(dirname "$0")/.."
mkdir -p build
export CGO_CFLAGS="${CGO_CFLAGS--g -O2} $(tools/headers.sh)"
# Without git, or in a folder of another repository, the version has no revision.
revision=$(tools/revision.sh)

CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X github.com/goproton/goproton/internal/version.Revision=$revision" -o build/proton ./cmd/proton
ln -sf proton build/proton-viewer
if compgen -G 'cmd/libproton/*.go' >/dev/null; then
  tools/overlay.sh build/overlay.json
  # Without libraries: it is loaded into programs of any libc, see its source.
  ${CC:-cc} -std=gnu11 -O2 -Wall -Wextra -Werror -fPIC -shared -nostdlib -fvisibility=hidden -o build/libproton-preload.so cmd/libproton/preload/preload.c
  CGO_ENABLED=1 go build -trimpath -overlay build/overlay.json -ldflags "-X github.com/goproton/goproton/internal/version.Revision=$revision" -buildmode=c-shared -o build/libproton.so ./cmd/libproton
fi
if [ -d hooks/python/goproton ]; then
  rm -rf build/python.new
  mkdir -p build/python.new
  cp -R hooks/python/goproton hooks/python/goproton_pytest.py hooks/python/bootstrap build/python.new/
  find build/python.new \( -name __pycache__ -o -name '*.pyc' \) -prune -exec rm -rf {} +
  # The old folder is renamed first and removed last, so that a running program finds either the old or the new one.
  rm -rf build/python.old
  if [ -d build/python ]; then mv build/python build/python.old; fi
  mv build/python.new build/python
  rm -rf build/python.old
fi
${CC:-cc} -std=c11 -O2 -Wall -Wextra -Werror -o build/proton-probe cmd/proton-probe/probe.c -ldl
if [ -x tools/build-stub.sh ]; then # libcupti and libcuda of the replay, and its host program
  tools/build-stub.sh build
fi
# Go stores test results by the times of what tests open, which is not all that the programs here read. So everything has one time: that
# of the last build for which any file of the checkout, or of what was built, was new.
parts=(build/proton build/proton-* build/libproton* build/python build/stub)
if [ -e .git ]; then
  sums=$({ git ls-files -co --exclude-standard -z && find "${parts[@]}" -type f ! -name '*.pyc' -print0 | sort -z; } | xargs -0 sha1sum 2>/dev/null | sha1sum)
  [ "$(cat build/.sums 2>/dev/null)" = "$sums" ] || echo "$sums" >build/.sums
  find "${parts[@]}" -exec touch -h -r build/.sums {} +
  touch -r build/.sums build
fi
