# The gateway as an image. `docker build -t dragoman .`, then as docs/guide/operating.md says.
# Dependencies come from requirements.lock and are checked by their hashes.

# SECURITY.md says how to pin it by its digest.
ARG BASE=python:3.13-slim-bookworm

FROM ${BASE} AS build
WORKDIR /build
RUN python -m venv /opt/dragoman
COPY requirements.lock ./
RUN /opt/dragoman/bin/pip install --no-cache-dir --require-hashes -r requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir dist . \
 && /opt/dragoman/bin/pip install --no-cache-dir --no-deps dist/*.whl \
 && /opt/dragoman/bin/python -m pip uninstall --yes pip

FROM ${BASE}
LABEL org.opencontainers.image.title="Dragoman" \
      org.opencontainers.image.description="Any conversation works on any model, and nothing is changed behind your back." \
      org.opencontainers.image.licenses="Apache-2.0"
RUN useradd --system --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin dragoman \
 && install --directory --owner=dragoman --group=dragoman --mode=0700 /var/lib/dragoman
COPY --from=build /opt/dragoman /opt/dragoman
COPY deploy/image.yaml /etc/dragoman/dragoman.yaml
ENV PATH=/opt/dragoman/bin:$PATH PYTHONUNBUFFERED=1
USER 10001:10001
WORKDIR /var/lib/dragoman
VOLUME /var/lib/dragoman
EXPOSE 8642
HEALTHCHECK --interval=10s --timeout=4s --start-period=15s --retries=3 \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8642/ready', timeout=3)"]
ENTRYPOINT ["dragoman"]
CMD ["serve", "--config", "/etc/dragoman/dragoman.yaml"]
