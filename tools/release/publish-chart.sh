#!/bin/sh
# tools/release/publish-chart.sh FOLDER: pushes release/prom2otlp-chart-VERSION.tgz as oci://FOLDER/prom2otlp, and writes
# FOLDER/prom2otlp@DIGEST to release/chart.txt. Needs Helm 3, and login.sh.
set -eu
version=$(node -p 'require("./package.json").version')
case $1 in 127.0.0.1:* | localhost:*) tls=--plain-http ;; *) tls= ;; esac
said=$(helm push "release/prom2otlp-chart-$version.tgz" "oci://$1" $tls 2>&1) || { echo "$said" >&2; exit 1; }
digest=$(echo "$said" | sed -n 's/^Digest: //p')
echo "$1/prom2otlp@${digest:?cannot find the digest in what Helm printed}" > release/chart.txt
