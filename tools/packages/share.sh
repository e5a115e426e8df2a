#!/usr/bin/env bash
# share.sh PROTON FOLDER: the manual pages, and what completes the command in bash, zsh and fish, where each of them looks below /usr/share.
# PROTON is the command, for this machine.
set -eu
proton=$1 out=$2
mkdir -p "$out"/{bash-completion/completions,zsh/site-functions,fish/vendor_completions.d}
"$proton" man "$out/man/man1"
"$proton" completion bash >"$out/bash-completion/completions/proton"
"$proton" completion zsh >"$out/zsh/site-functions/_proton"
"$proton" completion fish >"$out/fish/vendor_completions.d/proton.fish"
