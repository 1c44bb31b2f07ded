# The image of all programs: Node, the libraries that it needs, and one file for each program. It has no base image.
# tools/release/pins.json has the hashes of Node and the libraries, and package-lock.json those of the npm packages. A
# tag, not a hash, names the image of the first stage, which is not part of the result.
#
#     docker build --tag nameplate:0.2.0 .
#
# This needs BuildKit, which is Docker's default since version 23. `make release` builds an image with the same files
# without Docker, in two layers instead of one. Only the first stage needs a network.
FROM --platform=$BUILDPLATFORM node:26.10.0-bookworm AS build
WORKDIR /src
COPY . .
RUN npm ci --no-audit --no-fund && node_modules/.bin/rolldown --config tools/bundle.config.ts
# No default, which would override the architecture that Docker builds for.
ARG TARGETARCH
RUN node_modules/.bin/node tools/release/rootfs.ts /rootfs ${TARGETARCH}

FROM scratch
COPY --from=build /rootfs /
LABEL org.opencontainers.image.title="Nameplate" \
      org.opencontainers.image.description="A Kubernetes operator for custom domains" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV NODE_ENV=production PATH=/usr/local/bin:/usr/bin:/bin
# A number, because the kubelet cannot tell from a name that the user is not root (runAsNonRoot).
USER 65532:65532
# By default, V8 collects young objects only after 48 MB. With semi-spaces of 4 MB, the idle operator uses 20 MB less.
# Waking several threads to collect so little costs more than it saves: docs/benchmarks.md, controller runtime.
ENTRYPOINT ["node", "--max-semi-space-size=4", "--no-parallel-scavenge", "/app/operator.mjs"]
