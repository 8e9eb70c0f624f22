#!/bin/sh
# tools/release/chart.sh: makes release/prom2otlp-chart-VERSION.tgz, the same for each build of a commit. The name differs
# from that of the package of npm.
set -eu
mkdir -p release
sh deploy/packages/build.sh chart
mv "prom2otlp-chart-$(node -p 'require("./package.json").version').tgz" release/
