#!/bin/sh
# tools/release/publish-files.sh: makes the release of the tag vVERSION on GitHub, with the notes of the changelog, the two
# variables of docs/operate/install.md, the packages, the lists of components, SHA256SUMS and its signature. Needs GitHub's
# `gh`, GH_TOKEN, and the host of the registry in REGISTRY.
set -eu
version=$(node -p 'require("./package.json").version')
sh tools/release/notes.sh "$version" > release/notes.md
cat >> release/notes.md <<END

\`\`\`sh
export RELEASE=https://github.com/prom2otlp/prom2otlp/releases/download/v$version
export REGISTRY=$REGISTRY
\`\`\`
END
gh release create "v$version" --verify-tag --title "v$version" --notes-file release/notes.md \
  release/prom2otlp[-_]* release/SHA256SUMS release/SHA256SUMS.sigstore.json
