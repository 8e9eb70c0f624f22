#!/bin/sh
# tools/release/sign-files.sh: signs release/SHA256SUMS, which has the digests of all files, and writes
# release/SHA256SUMS.sigstore.json. Needs cosign 2. Signs with the key in the file COSIGN_KEY (its password is in
# COSIGN_PASSWORD) and puts nothing into the public log; without it, by the identity of the workflow.
set -eu
key=
[ -z "${COSIGN_KEY:-}" ] || key="--key $COSIGN_KEY --tlog-upload=false"
# shellcheck disable=SC2086 # each option is a word of its own
cosign sign-blob --yes $key --bundle release/SHA256SUMS.sigstore.json --output-signature /dev/null release/SHA256SUMS
