#!/bin/sh
# tools/release/set-version.sh VERSION [DATE]: writes the version into all files that name it, the date (YYYY-MM-DD) into the
# heading of the changelog, and what this version promises into test/fixtures/promises. Needs Node.js and `npm ci`.
set -eu
new=${1:?cannot set the version: tell which}
old=$(node -p 'require("./package.json").version')
npm version --silent --no-git-tag-version --allow-same-version "$new" > /dev/null
pattern=$(echo "$old" | sed 's/\./\\./g')
for file in $(git ls-files -- Dockerfile deploy README.md docs/operate/install.md docs/operate/release.md \
  docs/operate/runbooks.md test/deploy/fixtures); do
  ! grep -qF "$old" "$file" || sed -i "s/$pattern/$new/g" "$file"
done
head_as() { sed -i "0,/^## .* (not released)$/s//## $new ($1)/" CHANGELOG.md; }
head_as 'not released'
npm exec --no -- node tools/promises.ts
[ $# -eq 1 ] || head_as "$2"
