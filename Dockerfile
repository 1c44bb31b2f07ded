# The image of the operator and the messages API: Node, and one file for each program.
#
#     make bundle && docker build --tag nameplate:0.1.0 .
#
# The bundle is made before, not in here: the image holds what was tested, and its build needs no network. What is in the
# bundle is pinned by the hashes in package-lock.json and listed beside each program (*.cdx.json, for scanners).
#
# BASE may be any image that has Node 26 on its PATH. The default is pinned by version only: a tag can be moved by its
# owner, and where this was written no container registry could be reached to learn the digest. Pin what you publish:
#
#     docker buildx imagetools inspect node:26.10.0-trixie-slim --format '{{.Manifest.Digest}}'
#     docker build --build-arg BASE=node:26.10.0-trixie-slim@sha256:… --tag nameplate:0.1.0 .
ARG BASE=node:26.10.0-trixie-slim
FROM ${BASE}

LABEL org.opencontainers.image.title="Nameplate" \
      org.opencontainers.image.description="A Kubernetes operator for custom domains" \
      org.opencontainers.image.licenses="Apache-2.0"

COPY LICENSE dist/operator.mjs dist/check.mjs dist/review.mjs dist/messages.mjs dist/messages-store.mjs dist/*.cdx.json /app/

ENV NODE_ENV=production
# A number, because the kubelet cannot tell that a name is not root's (runAsNonRoot).
USER 65532:65532
# V8 would let young objects have 48 MB before it looks at them: with 4 MB a part the operator at rest takes 20 MB less.
ENTRYPOINT ["node", "--max-semi-space-size=4", "/app/operator.mjs"]
