#!/bin/sh
# tools/release/sums.sh: makes release/SHA256SUMS of all files there. Needs coreutils.
set -eu
cd release
rm -f SHA256SUMS*
sha256sum prom2otlp[-_]* > SHA256SUMS
