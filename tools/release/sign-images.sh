#!/bin/sh
# tools/release/sign-images.sh: signs the image and the chart that were published, by digest, and attests the image's list
# of components. The signatures go to the registry. Needs cosign 2, login.sh, and a key as sign-files.sh has it.
set -eu
version=$(node -p 'require("./package.json").version')
key=
[ -z "${COSIGN_KEY:-}" ] || key="--key $COSIGN_KEY --tlog-upload=false"
# shellcheck disable=SC2086 # each option is a word of its own
cosign sign --yes --recursive $key "$(cat release/image.txt)"
# shellcheck disable=SC2086
cosign sign --yes $key "$(cat release/chart.txt)"
# shellcheck disable=SC2086
cosign attest --yes $key --type cyclonedx --predicate "release/prom2otlp-$version-image.cdx.json" "$(cat release/image.txt)"
