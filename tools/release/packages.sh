#!/bin/sh
# tools/release/packages.sh [FORMAT ARCHITECTURE]: makes the .deb and the .rpm for amd64 and arm64 in release/, or only the
# one that is named. Needs `npm ci`, dpkg-deb and rpmbuild; no program of the other architecture runs.
set -eu
if [ $# -eq 0 ]; then
  for format in deb rpm; do
    for architecture in amd64 arm64; do sh "$0" "$format" "$architecture"; done
  done
  exit
fi
mkdir -p release
sh deploy/packages/build.sh "$1" "$2"
case $1-$2 in
  rpm-amd64) made=*.x86_64.rpm ;;
  rpm-arm64) made=*.aarch64.rpm ;;
  *) made=*_$2.deb ;;
esac
# shellcheck disable=SC2086 # a pattern
mv prom2otlp$made release/
