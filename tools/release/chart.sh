#!/bin/sh
# tools/release/chart.sh: makes release/prom2otlp-chart-VERSION.tgz. Needs Helm 3. The name differs from Helm's own, which
# is that of the package of npm.
set -eu
version=$(node -p 'require("./package.json").version')
mkdir -p release
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
helm package deploy/helm --destination "$made" >&2
mv "$made/prom2otlp-$version.tgz" "release/prom2otlp-chart-$version.tgz"
