# One image for the pages and for the workers: docs/image.md.
#
#     docker build --tag nbexam:local .
#
# (`podman build --format docker`: the other format drops HEALTHCHECK.)
#
# The base is pinned by its full version. To pin its content too, append the digest that `docker buildx imagetools
# inspect python:3.11.14-slim-bookworm` prints: python:3.11.14-slim-bookworm@sha256:<digest>.
ARG BASE=docker.io/library/python:3.11.14-slim-bookworm

FROM ${BASE} AS wheel
WORKDIR /src
COPY . .
# Plain ENV: pip also applies the constraints to what the wheel is built with.
ENV PIP_CONSTRAINT=/src/constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python3 -m venv /opt/build \
    && /opt/build/bin/pip wheel --no-deps --wheel-dir /wheels .

FROM ${BASE} AS install
COPY constraints.txt /
ENV PIP_CONSTRAINT=/constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python3 -m venv /opt/nbexam
# A CPU build, from an index that holds nothing else; --no-deps because all other packages come from PyPI.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
RUN /opt/nbexam/bin/pip install --no-deps --index-url "${TORCH_INDEX}" torch
# Libraries that student code of your course imports besides, such as "pandas nltk".
ARG COURSE_PACKAGES=""
COPY --from=wheel /wheels /wheels
RUN /opt/nbexam/bin/pip install "$(echo /wheels/nbexam-*.whl)[course,service,objects,saml]" ${COURSE_PACKAGES}

FROM ${BASE}
# tini collects processes whose parent has ended, and passes SIGTERM on. Folders and files belong to root, so neither
# the service nor student code can change the program. Workers fetch assignments with git.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates git tini \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --user-group --no-create-home --home-dir /tmp --shell /usr/sbin/nologin nbexam \
    && install --directory --owner=nbexam --group=nbexam /srv/course
COPY --from=install /opt/nbexam /opt/nbexam
ENV PATH=/opt/nbexam/bin:${PATH} PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
WORKDIR /srv/course
USER 10001:10001
EXPOSE 8000
ENTRYPOINT ["/usr/bin/tini", "--"]
CMD ["autograder", "--help"]
# Of the pages; compose.yaml states another one for workers.
HEALTHCHECK --interval=30s --timeout=6s --start-period=2m \
    CMD ["python3", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=5)"]
