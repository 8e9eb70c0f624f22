#!/bin/sh
# tools/release/sbom.sh: makes release/prom2otlp-VERSION.cdx.json, the components of the program, and
# release/prom2otlp-VERSION-image.cdx.json, which adds the image's Node.js and C libraries. Needs `npm ci` and the image
# that image.sh has made.
set -eu
version=$(node -p 'require("./package.json").version')
npm run -s sbom > "release/prom2otlp-$version.cdx.json"
npm run -s sbom -- "release/prom2otlp-$version.oci.tar" > "release/prom2otlp-$version-image.cdx.json"
