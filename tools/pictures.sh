#!/usr/bin/env bash
# Takes the pictures of README.md: pages of a replayed capture, in the browser that the tests use. Run it after "make build"
# and "make oracles", and check the pictures before you commit them.
set -eu
cd "$(dirname "$0")/.."
folder=$PWD/build/pictures
mkdir -p "$folder" docs/pictures
build/proton run --backend replay --mode pcsampling --name "$folder/matmul" testdata/captures/matmul_sampled.capture.gz
build/proton report "$folder/matmul.hatchet" -o "$folder/matmul.html" --force --source-path tutorials/matmul
PROTON_PICTURES=$folder go test ./viewer/report -run '^TestPictures$' -count 1
cp "$folder/flame.png" docs/pictures/report-flame.png
cp "$folder/source.png" docs/pictures/report-source.png
ls -l docs/pictures
