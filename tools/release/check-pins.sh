#!/bin/sh
# tools/release/check-pins.sh: fails while an action of .github/workflows is not pinned by the 40 hex digits of a commit.
# `@PIN_ME` stands for a digest that is still to be looked up.
set -eu
loose=$(grep -nE '^ *(- )?uses: ' .github/workflows/*.yml | grep -vE '@[0-9a-f]{40}( |$)' || true)
[ -z "$loose" ] || {
  echo "cannot release: actions are not pinned by a commit; replace what follows @ by 40 hex digits:" >&2
  echo "$loose" >&2
  exit 1
}
