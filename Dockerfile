# The operator's image: Node and one file.
#
#     make bundle && docker build --tag nameplate:0.1.0 .
#
# The bundle is made before, not in here: the image holds what was tested, and its build needs no network. BASE may be
# any image that has Node 26 on its PATH.
ARG BASE=node:26.10.0-trixie-slim
FROM ${BASE}

LABEL org.opencontainers.image.title="Nameplate" \
      org.opencontainers.image.description="A Kubernetes operator for custom domains" \
      org.opencontainers.image.licenses="Apache-2.0"

COPY LICENSE dist/operator.mjs dist/check.mjs dist/messages.mjs dist/messages-store.mjs /app/

ENV NODE_ENV=production
# A number, because the kubelet cannot tell that a name is not root's (runAsNonRoot).
USER 65532:65532
ENTRYPOINT ["node", "/app/operator.mjs"]
