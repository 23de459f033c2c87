# One image for both modes: `up` by itself, or the services of compose.yaml.
FROM python:3.11-slim

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1 \
    CREWSHIP_DATA_DIR=/data

WORKDIR /app
COPY requirements.txt .
RUN pip install --disable-pip-version-check -r requirements.txt \
    && python -m compileall -q "$(python -c 'import site; print(site.getsitepackages()[0])')"

COPY . .
RUN python -m compileall -q . \
    && useradd --system --uid 10001 --home-dir /data --shell /usr/sbin/nologin crewship \
    && install -d -o crewship -g crewship -m 0700 /data

USER crewship
VOLUME /data
EXPOSE 8000
# Asked under a host name that is served.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["python", "-c", \
    "import os, urllib.request as u; \
    name = os.environ.get('CREWSHIP_ALLOWED_HOSTS', '').split(',')[0].strip().lstrip('.*'); \
    head = {'Host': name or 'localhost'}; \
    u.urlopen(u.Request('http://127.0.0.1:8000/readyz', headers=head), timeout=4)"]

ENTRYPOINT ["python", "manage.py"]
CMD ["up", "--host", "0.0.0.0"]
