#!/bin/sh
# tools/release/image.sh [BUILDX ARGUMENT…]: makes release/prom2otlp-VERSION.oci.tar, the image for amd64 and arm64, from a
# clean checkout. Needs docker with buildx and a builder that writes OCI archives (`docker buildx create --use`). The
# Dockerfile pins its base by digest; `--build-arg NODE_IMAGE=…` is another one.
set -eu
version=$(node -p 'require("./package.json").version')
mkdir -p release
docker buildx build --platform linux/amd64,linux/arm64 --output "type=oci,dest=release/prom2otlp-$version.oci.tar,rewrite-timestamp=true" \
  --build-arg "SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}" \
  --build-arg "REVISION=$(git rev-parse HEAD)" "$@" .
