#!/bin/sh
# tools/release/package.sh: makes release/prom2otlp-VERSION.tgz, the package of npm. Needs Node.js, npm and `npm ci`.
set -eu
mkdir -p release
npm pack --silent --pack-destination release
