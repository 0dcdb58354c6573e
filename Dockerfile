# rankloop serve, in an image that needs nothing at run time but a volume: docs/deploy.md
ARG PYTHON=3.12

FROM python:${PYTHON}-slim-bookworm AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN python -m venv /opt/rankloop && /opt/rankloop/bin/pip install --no-cache-dir '.[postgres]'
# Machine code for any x86-64 processor since 2015 (AVX2), whichever the image is built on. For others:
# --build-arg CPU=generic --build-arg CPU_FEATURES=
ARG CPU=x86-64-v3
ARG CPU_FEATURES=+avx2,+fma,+bmi,+bmi2,+lzcnt,+movbe,+f16c,+popcnt
ENV NUMBA_CACHE_DIR=/opt/rankloop/compiled NUMBA_CPU_NAME=${CPU} NUMBA_CPU_FEATURES=${CPU_FEATURES}
RUN /opt/rankloop/bin/python -m rankloop.live.rehearsal

FROM python:${PYTHON}-slim-bookworm
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin rankloop \
    && install --directory --owner=10001 --group=10001 --mode=0700 /data
COPY --from=build /opt/rankloop /opt/rankloop
ARG CPU=x86-64-v3
ARG CPU_FEATURES=+avx2,+fma,+bmi,+bmi2,+lzcnt,+movbe,+f16c,+popcnt
ENV NUMBA_CACHE_DIR=/opt/rankloop/compiled NUMBA_CPU_NAME=${CPU} NUMBA_CPU_FEATURES=${CPU_FEATURES} \
    RANKLOOP_HOME=/data/home PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
    CMD ["/opt/rankloop/bin/python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/healthz', timeout=2)"]
ENTRYPOINT ["/opt/rankloop/bin/rankloop"]
CMD ["serve", "/data/rankloop.db", "--host", "0.0.0.0", "--log", "json"]
