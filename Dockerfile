# The image contains only the bundle, Node.js and its linked libraries: no shell, no package manager, no node_modules. The
# container does not run as root, and works with a read-only root file system and without capabilities. It writes only to
# /var/lib/prom2otlp. docs/operate/release.md builds it for amd64 and arm64.
ARG NODE_IMAGE=node:24.21.0-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6

# Of the architecture of the image. Nothing in it runs here, so that a build for another architecture needs no emulator.
FROM ${NODE_IMAGE} AS node

# Of the architecture of this machine.
FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS build
COPY --from=node /usr/local/bin/node /node/node
COPY --from=node /usr/lib /node/lib
COPY --from=node /var/lib/dpkg/status /node/status
# What Node.js is linked to, and the loader at the places where amd64 and arm64 look for it. The list of their packages is
# for scanners, and for tools/sbom.ts.
RUN mkdir -p /image/etc /image/tmp /image/lib /image/lib64 /image/usr/local/bin /image/var/lib/dpkg/status.d /opt/prom2otlp \
 && chmod 1777 /image/tmp \
 && install -d -m 0700 -o 1000 -g 1000 /image/var/lib/prom2otlp \
 && echo 'prom2otlp:x:1000:1000::/var/lib/prom2otlp:/nologin' > /image/etc/passwd \
 && cp /node/node /image/usr/local/bin/ \
 && cd /node/lib/*-linux-gnu \
 && cp -L libc.so.6 libdl.so.2 libgcc_s.so.1 libm.so.6 libpthread.so.0 libstdc++.so.6 ld-linux-*.so.* /image/lib/ \
 && cp -L ld-linux-*.so.* /image/lib64/ \
 && for name in libc6 libgcc-s1 libstdc++6; do \
      sed -n "/^Package: $name\$/,/^\$/p" /node/status > "/image/var/lib/dpkg/status.d/$name"; \
    done
WORKDIR /build
COPY package.json package-lock.json tsconfig.json ./
COPY tools tools
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY src src
ARG REVISION=
RUN PROM2OTLP_COMMIT=$REVISION node tools/build.ts && mv dist /opt/prom2otlp
COPY package.json LICENSE /opt/prom2otlp/
COPY bin /opt/prom2otlp/bin
COPY config /opt/prom2otlp/config
# A clone may have been made with a umask that hides its files from others, or lets them write. The same files are the
# same image.
RUN chmod -R u+rwX,go+rX,go-w /opt/prom2otlp

FROM scratch
ARG NODE_IMAGE
ARG REVISION=
LABEL org.opencontainers.image.title="prom2otlp" \
      org.opencontainers.image.description="Brings a hosted database service's metrics and logs into OpenTelemetry" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/prom2otlp/prom2otlp" \
      org.opencontainers.image.version="0.2.0" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="${NODE_IMAGE}"
COPY --from=build /image /
COPY --from=build /opt/prom2otlp /opt/prom2otlp
# One memory arena for all threads saves 8 MB. Returning large blocks to the system saves a quarter with many series.
ENV NODE_ENV=production PATH=/usr/local/bin PROM2OTLP_CONFIG=/etc/prom2otlp/prom2otlp.yaml MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=262144
WORKDIR /opt/prom2otlp
# A number, so that an orchestrator can verify that it is not root.
USER 1000:1000
VOLUME /var/lib/prom2otlp
EXPOSE 9464
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
  CMD ["node", "--disable-sigusr1", "bin/healthcheck.js"]
# SIGUSR1 opens no inspector. The other flags matter for a small daemon: no WebAssembly tier-up, a small young generation, and no optimizing compilers
# until they have work (src/lib/footprint.ts).
ENTRYPOINT ["node", "--disable-sigusr1", "--liftoff-only", "--max-semi-space-size=1", "--no-opt", "--no-maglev", "--expose-gc", "bin/prom2otlp.js"]
CMD ["run"]
