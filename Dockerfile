# tare alone: a static program needs nothing beside it. The context holds it below the
# name of its platform, as `make image` and goreleaser lay it out; BuildKit sets
# TARGETPLATFORM itself, the classic builder is told. Version, revision and date are
# labels that the build adds.
FROM scratch
ARG TARGETPLATFORM
LABEL org.opencontainers.image.title="tare" \
	org.opencontainers.image.description="Measures the network overhead that containers add" \
	org.opencontainers.image.licenses="Apache-2.0"
COPY $TARGETPLATFORM/tare /usr/bin/tare
# Where to mount the directory of studies and runs.
WORKDIR /work
ENTRYPOINT ["/usr/bin/tare"]
