#!/bin/sh
# tools/release/verify.sh FOLDER [IMAGE CHART]: what a user runs. Checks the files that were downloaded into a folder by
# SHA256SUMS and its signature, then the signatures of image and chart and the image's list of components. Needs coreutils
# and cosign 2. COSIGN_PUBLIC_KEY is the file of a public key; without it, only the workflow of a release may have signed.
set -eu
if [ -n "${COSIGN_PUBLIC_KEY:-}" ]; then
  who="--key $COSIGN_PUBLIC_KEY --insecure-ignore-tlog=true"
else
  who='--certificate-oidc-issuer https://token.actions.githubusercontent.com
    --certificate-identity-regexp ^https://github\.com/prom2otlp/prom2otlp/\.github/workflows/release\.yml@refs/tags/v'
fi
# shellcheck disable=SC2086 # each option is a word of its own
cosign verify-blob $who --bundle "$1/SHA256SUMS.sigstore.json" "$1/SHA256SUMS"
(cd "$1" && sha256sum --check --strict --ignore-missing SHA256SUMS)
[ $# -eq 3 ] || exit 0
# shellcheck disable=SC2086
cosign verify $who "$2" > /dev/null
# shellcheck disable=SC2086
cosign verify $who "$3" > /dev/null
# shellcheck disable=SC2086
cosign verify-attestation $who --type cyclonedx "$2" > /dev/null
