#!/usr/bin/env bash
# release.sh [SYSTEM/ARCHITECTURE...]: archives of the viewer alone, for each system and architecture or for those that are named, in
# build/release, with SHA256SUMS. Each has the command as one static file, the licence, README, CHANGELOG, manual pages, completions for shells, and the extension for VS Code. "proton run" needs the wheel.
set -eu
cd "$(dirname "$0")/../.."
[ $# -gt 0 ] || set -- {linux,darwin,windows}/{amd64,arm64}
out=build/release
rm -rf "$out"
mkdir -p "$out/common"
export CGO_ENABLED=0 GOFLAGS="-trimpath -buildvcs=false"
link="-s -w -X github.com/goproton/goproton/internal/version.Revision=$(tools/revision.sh)"

go build -o "$out/here" ./cmd/proton
"$out/here" man "$out/common/man/man1"
mkdir "$out/common/completions"
"$out/here" completion bash >"$out/common/completions/proton.bash"
"$out/here" completion zsh >"$out/common/completions/_proton"
"$out/here" completion fish >"$out/common/completions/proton.fish"
"$out/here" completion powershell >"$out/common/completions/proton.ps1"
cp LICENSE README.md CHANGELOG.md "$out/common"
cp -r interpreter/dap/vscode "$out/common/vscode"

for target in "$@"; do
  system=${target%/*} architecture=${target#*/} proton=proton
  if [ "$system" = windows ]; then proton=proton.exe; fi
  GOOS=$system GOARCH=$architecture go build -ldflags "$link" -o "$out/$proton" ./cmd/proton
  python3 -B tools/packages/archive.py "$out" "$proton" "$system" "$architecture"
  rm "$out/$proton"
done
rm -r "$out/here" "$out/common"
cd "$out"
sha256sum -- proton-* >SHA256SUMS
