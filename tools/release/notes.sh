#!/bin/sh
# tools/release/notes.sh VERSION: prints what CHANGELOG.md says of a version. Needs awk.
set -eu
awk -v heading="## $1 (" '
  index($0, "## ") == 1 { inside = index($0, heading) == 1; next }
  inside && (NF || found) { print; found = 1 }
  END { exit !found }
' CHANGELOG.md || { echo "cannot print the notes of $1: CHANGELOG.md has no lines for it" >&2; exit 1; }
