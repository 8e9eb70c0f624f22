# The bundle on a slim Node image: no node_modules, no sources, not root.
FROM node:24-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
COPY tools tools
RUN npm ci --no-audit --no-fund
COPY tsconfig.json ./
COPY src src
RUN node tools/build.ts

FROM node:24-slim
ENV NODE_ENV=production
WORKDIR /opt/prom2otlp
COPY package.json LICENSE ./
COPY bin bin
COPY config config
COPY --from=build /build/dist dist
RUN mkdir -p /var/lib/prom2otlp && chown node:node /var/lib/prom2otlp
USER node
VOLUME /var/lib/prom2otlp
EXPOSE 9464
HEALTHCHECK --interval=30s --timeout=3s CMD ["node", "-e", "fetch('http://127.0.0.1:9464/healthz').then(r => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Flags that were found to matter for a small daemon: no WebAssembly tier-up, a small young generation.
ENTRYPOINT ["node", "--liftoff-only", "--max-semi-space-size=1", "bin/prom2otlp.js"]
CMD ["run", "--config", "/etc/prom2otlp/prom2otlp.yaml"]
