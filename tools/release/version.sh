#!/bin/sh
# tools/release/version.sh [TAG]: prints the version. Fails unless package.json, the lock file, the chart, the Dockerfile, a
# dated heading of CHANGELOG.md and TAG (v0.2.0), if given, all name it. Needs Node.js.
set -eu
version=$(node -p 'require("./package.json").version')
wrong() { echo "cannot release $version: $1 names another version; $2" >&2; exit 1; }
has() { grep -qxF -e "$1" "$2"; }

[ "$(node -p 'require("./package-lock.json").version')" = "$version" ] ||
  wrong package-lock.json "run npm version --no-git-tag-version $version"
for key in version appVersion; do
  has "$key: $version" deploy/helm/Chart.yaml || wrong deploy/helm/Chart.yaml "set its $key"
done
grep -qF "image.version=\"$version\"" Dockerfile || wrong Dockerfile 'set its label'
newest=$(sed -n '/^## /{s/^## //p;q;}' CHANGELOG.md)
case $newest in
  "$version ("[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]")") ;;
  *) echo "cannot release $version: the changelog begins with '$newest'; write '$version (YYYY-MM-DD)'" >&2; exit 1 ;;
esac
[ "${1:-v$version}" = "v$version" ] || wrong "the tag $1" "push the tag v$version"
echo "$version"
