#!/usr/bin/env bash
# Fetches parts of ROCm that are compared with GoProton's declarations and run under it, pinned by tools/rocm.txt, into
# .venv/oracles/rocm: headers of HIP, libroctx64, LLVM, and the source of roctracer, from which it builds libroctracer64 (no archive has
# that library as a package). Repeated runs keep what is there. What cannot be had is a warning that names the skipped tests.
set -u
cd "$(dirname "$0")/.."
into=$PWD/.venv/oracles/rocm python=$PWD/.venv/bin/python
helper=/usr/lib/apt/apt-helper # verifies the hash
pools="http://deb.debian.org/debian/pool http://snapshot.debian.org/archive/debian/20261122T000000Z/pool"
mkdir -p "$into"
exec 9>"$into/.lock"
flock 9

warn() { echo "rocm: $*" >&2; }
skip() { warn "$*: comparisons with headers of ROCm, and runs under the real libroctracer64 and libroctx64, will be skipped"; exit 0; }
for tool in "$helper" dpkg-deb; do command -v "$tool" >/dev/null || skip "needs apt and dpkg, and there is no $tool"; done
[ "$(dpkg --print-architecture)" = amd64 ] || skip "tools/rocm.txt has packages for amd64 only"

fetch() { # FOLDER PATH HASH
  local dir=$into/$1 file pool
  [ -d "$dir" ] && return
  rm -rf "$dir.part" && mkdir -p "$dir.part"
  file=$dir.part/$(basename "$2")
  for pool in $pools; do
    timeout 60 "$helper" -qq -o Acquire::Retries=1 -o APT::Sandbox::User= download-file "$pool/$2" "$file" "SHA256:$3" 2>/dev/null && break
  done
  [ -f "$file" ] && case $file in
    *.deb) dpkg-deb -x "$file" "$dir.part" ;;
    *) tar -xzf "$file" -C "$dir.part" --strip-components=1 ;;
  esac && rm "$file" && mv "$dir.part" "$dir" && return
  rm -rf "$dir.part"
  warn "cannot fetch $2 from Debian: tests that need .venv/oracles/rocm/$1 will be skipped"
}

# roctracer: builds libroctracer64 as the source's CMakeLists.txt does, with HIP 6.4, and without the text of arguments,
# which only its command line prints. The one function of the HSA runtime that it calls is for the times of calls, which the room does
# not ask for.
roctracer() {
  local source=$into/roctracer-6.4 made=$into/roctracer-6.4/made hip=$into/hip-6.4/usr/include hsa=$into/hsa-6.4/usr/include parser=$into/header-parser
  [ -f "$made/libroctracer64.so.4" ] && return
  [ -d "$source" ] && [ -d "$hip" ] && [ -d "$hsa" ] || return 1
  [ -d "$parser" ] || "$python" -m pip --quiet --disable-pip-version-check --no-input install --no-deps --no-compile --only-binary :all: \
    --require-hashes --target "$parser" -r tools/pins/header-parser.txt || return 1
  mkdir -p "$made"
  cd "$made" &&
    PYTHONPATH=$parser "$python" "$source/script/hsaap.py" . "$hsa/hsa" >/dev/null &&
    sed -i -e '/section: API output stream/,$d' hsa_prof_str.h && echo '#endif' >>hsa_prof_str.h &&
    echo '#include <utility>' | tee hip_ostream_ops.h >hsa_ostream_ops.h &&
    echo 'extern "C" int hsa_system_get_info(int, void *) { return 1; }' >hsa.cpp &&
    c++ -shared -fPIC -O1 -std=c++17 -w -fvisibility=hidden -DROCTRACER_EXPORTS -DAMD_INTERNAL_BUILD -DPROF_API_IMPL \
      -D__HIP_PLATFORM_AMD__=1 -isystem "$hip" -isystem "$hsa" -I. -I"$source/inc" -I"$source/src" \
      -I"$source/src/roctracer" -I"$source/src/util" "$source"/src/roctracer/*.cpp "$source"/src/util/*.cpp hsa.cpp \
      -Wl,--version-script="$source/src/roctracer/exportmap" -Wl,-soname,libroctracer64.so.4 \
      -o libroctracer64.so.part -lstdc++fs -pthread -ldl && mv libroctracer64.so.part libroctracer64.so.4
}

# llvm: makes scripts that run LLVM's programs with the glibc that they need.
llvm() {
  local tools=$into/llvm-22/tools/usr/lib/llvm-22/bin bin=$into/llvm-22/bin register=$into/register tool dir path
  path=$into/llvm-22/llvm/usr/lib/x86_64-linux-gnu
  for dir in libc6 stdc++ gcc lzma; do path=$path:$register/$dir/usr/lib/x86_64-linux-gnu; done
  mkdir -p "$bin"
  for tool in llvm-objdump llvm-readelf llvm-symbolizer; do
    [ -x "$tools/$tool" ] || return 1
    printf '#!/bin/sh\nexec "%s" --library-path "%s" --argv0 "$0" "%s" "$@"\n' "$register/libc6/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2" \
      "$path:/usr/lib/x86_64-linux-gnu" "$tools/$tool" >"$bin/$tool.part" && chmod +x "$bin/$tool.part" && mv "$bin/$tool.part" "$bin/$tool"
    "$bin/$tool" --version >/dev/null || { rm -rf "$bin"; return 1; }
  done
}

while read -r folder path hash; do
  case $folder in '' | '#'*) continue ;; esac
  fetch "$folder" "$path" "$hash"
done <tools/rocm.txt
(llvm) || warn "LLVM 22 does not run here (it needs libcurl4, libedit2, libxml2 and libz3-4): code objects are compared with what it said before"
(roctracer) || warn "cannot build libroctracer64: runs under the real library will be skipped"
