#!/usr/bin/env bash
# Builds build/collector/otelcol, an OpenTelemetry collector that takes profiles over OTLP and passes them on: for TestCollector,
# in make check. Its builder and all modules come from the Go module proxy, in the versions below, and are verified by Go's
# checksum database. Two cores build it in two minutes.
set -eu
cd "$(dirname "$0")/.."
. tools/again.sh
version=0.158.0 stable=1.64.0 # of the collector's modules that are stable
out=$PWD/build/collector
if [ -x "$out/otelcol" ] && [ "$(cat "$out/version" 2>/dev/null)" = "$version" ]; then exit; fi
rm -rf "$out" && mkdir -p "$out"
cat >"$out/builder.yaml" <<YAML
dist: {name: otelcol, output_path: $out/source}
receivers: [{gomod: "go.opentelemetry.io/collector/receiver/otlpreceiver v$version"}]
exporters: [{gomod: "go.opentelemetry.io/collector/exporter/otlphttpexporter v$version"}]
providers:
  - {gomod: "go.opentelemetry.io/collector/confmap/provider/envprovider v$stable"} # without it no collector starts
  - {gomod: "go.opentelemetry.io/collector/confmap/provider/fileprovider v$stable"}
YAML
unset GOFLAGS
export CGO_ENABLED=0
again go run "go.opentelemetry.io/collector/cmd/builder@v$version" --config "$out/builder.yaml" >"$out/build.txt" 2>&1 || { tail -20 "$out/build.txt"; exit 1; }
mv "$out/source/otelcol" "$out/otelcol"
rm -rf "$out/source"
echo "$version" >"$out/version"
