#!/bin/sh
# tools/release/publish-npm.sh REGISTRY: publishes release/prom2otlp-VERSION.tgz. Needs npm and a token for the registry in
# npm's configuration. In a workflow with an identity token, npm adds the provenance of the package.
set -eu
version=$(node -p 'require("./package.json").version')
provenance=
[ -z "${ACTIONS_ID_TOKEN_REQUEST_URL:-}" ] || provenance=--provenance
npm publish "./release/prom2otlp-$version.tgz" --registry "$1" --access public $provenance
