#!/bin/sh
# tools/release/audit.sh [OSV]: fails if npm knows a high or critical weakness of a package in the lock file, or the OSV
# database (OSV is its address) any weakness of a component of the program. Needs `npm ci`.
set -eu
npm audit --audit-level=high
npm run -s sbom | npm exec --no -- node tools/osv.ts "${1:-https://api.osv.dev}"
