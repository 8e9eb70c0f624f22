#!/bin/sh
# tools/release/login.sh REGISTRY USER: logs skopeo, Helm and cosign in to a registry, with the password in
# REGISTRY_PASSWORD.
set -eu
: "${REGISTRY_PASSWORD:?cannot log in: set REGISTRY_PASSWORD}"
printf %s "$REGISTRY_PASSWORD" | skopeo login "$1" --username "$2" --password-stdin
printf %s "$REGISTRY_PASSWORD" | helm registry login "$1" --username "$2" --password-stdin
printf %s "$REGISTRY_PASSWORD" | cosign login "$1" --username "$2" --password-stdin
