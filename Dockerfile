# Postrider for a Temporal and a PostgreSQL of their own: set DATABASE_URL, TEMPORAL_ADDRESS, POSTRIDER_ADMIN_TOKEN and
# POSTRIDER_ENCRYPTION_KEYS. Temporal's SDK needs glibc, hence Debian.
FROM node:24.11.0-bookworm-slim AS build
WORKDIR /app
# First what says which packages there are: as long as it stays the same, the layer of the packages is taken from the cache.
COPY package.json package-lock.json ./
COPY api/package.json ./api/
COPY client/package.json ./client/
COPY site/package.json ./site/
COPY web/package.json ./web/
# Scripts off: `prepare` would build before this file says so, and no dependency needs one.
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build && npm prune --omit=dev --ignore-scripts

FROM node:24.11.0-bookworm-slim
# Outgoing HTTPS by the SDK's native core needs the system's certificates.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /app
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    PORT=8080 \
    POSTRIDER_DATA_DIR=/data
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/api ./api
COPY --from=build /app/client ./client
COPY --from=build /app/dist ./dist
COPY --from=build /app/web/dist ./web/dist
COPY --from=build /app/site/dist ./site/dist
RUN install --directory --owner=node --group=node /data
USER node
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=5s --timeout=4s --start-period=60s --retries=3 \
    CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.POSTRIDER_ADMIN_PORT || process.env.PORT}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# As `npm start` has it.
CMD ["node", "--max-semi-space-size=64", "dist/src/postrider.cjs", "start"]
