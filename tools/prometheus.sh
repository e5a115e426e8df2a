#!/usr/bin/env bash
# Fetches Prometheus with promtool from Debian, pinned, into .venv/oracles/prometheus: make check and tutorials/always_on have it read
# counters. Repeated runs keep what is there. Where it cannot be had, a warning names the skipped tests.
set -u
cd "$(dirname "$0")/.."
path=main/p/prometheus/prometheus_2.42.0+ds-5+deb12u1_amd64.deb
hash=81d59a24fce84f7fbe97a45a4f2914b6a5881b5cd1db2a6a0e129e515e1a5f55
into=$PWD/.venv/oracles/prometheus helper=/usr/lib/apt/apt-helper # the helper verifies the hash
[ "$(cat "$into/hash" 2>/dev/null)" = "$hash" ] && exit

skip() { echo "prometheus: $*: tests in which Prometheus reads counters will be skipped" >&2; exit 0; }
for tool in "$helper" dpkg-deb; do command -v "$tool" >/dev/null || skip "needs apt and dpkg, and there is no $tool"; done
[ "$(dpkg --print-architecture)" = amd64 ] || skip "the package is for amd64 only"
rm -rf "$into" && mkdir -p "$into"
for pool in http://deb.debian.org/debian/pool http://snapshot.debian.org/archive/debian/20261122T000000Z/pool; do
  timeout 60 "$helper" -qq -o Acquire::Retries=1 -o APT::Sandbox::User= download-file "$pool/$path" "$into/package.deb" "SHA256:$hash" 2>/dev/null && break
done
[ -f "$into/package.deb" ] && dpkg-deb -x "$into/package.deb" "$into" && rm "$into/package.deb" && "$into/usr/bin/promtool" --version >/dev/null 2>&1 ||
  skip "cannot fetch $path from Debian, or it does not run here"
echo "$hash" >"$into/hash"
