#!/bin/sh
# tools/release/publish-image.sh REPOSITORY: pushes release/prom2otlp-VERSION.oci.tar as REPOSITORY:VERSION, both
# architectures, and writes REPOSITORY@DIGEST to release/image.txt. Needs skopeo, and login.sh.
set -eu
version=$(node -p 'require("./package.json").version')
case $1 in 127.0.0.1:* | localhost:*) tls=--dest-tls-verify=false ;; *) tls= ;; esac
skopeo --insecure-policy copy --all --preserve-digests $tls --digestfile release/digest \
  "oci-archive:release/prom2otlp-$version.oci.tar" "docker://$1:$version"
echo "$1@$(cat release/digest)" > release/image.txt
rm release/digest
