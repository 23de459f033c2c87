"""No log line names a person: every route, and every package that writes lines."""

from __future__ import annotations

import io
import logging
import re
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import structlog
from django.core.exceptions import SuspiciousOperation
from django.db import IntegrityError, OperationalError
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver, resolve
from django.utils.log import log_response
from django_structlog.celery.receivers import CeleryReceiver

from crewship_memory import log_redaction, logs
from memory.accounts import api_keys
from memory.review import queue as review_queue
from tests.world import World

NAME = "zeldaquux"
ADDRESS = f"{NAME}@person.example"
BACKEND = "django.contrib.auth.backends.ModelBackend"
PARAMETER = re.compile(r"<(?:(\w+):)?\w+>")
GROUP = re.compile(r"\(\?P<\w+>[^()]*(?:\([^()]*\)[^()]*)*\)")


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """Everything that is logged, at every level, as an operator would read it."""
    text = io.StringIO()
    root = logging.getLogger()
    (handler,) = [
        h for h in root.handlers if isinstance(h.formatter, log_redaction.Formatter)
    ]
    assert isinstance(handler, logging.StreamHandler)
    loggers = [
        root,
        *(logging.getLogger(name) for name in logging.Logger.manager.loggerDict),
    ]
    levels = {logger: logger.level for logger in loggers}
    for logger in loggers:
        logger.setLevel(logging.DEBUG)
    stream = handler.setStream(text)
    yield text
    handler.setStream(stream)
    for logger, level in levels.items():
        logger.setLevel(level)


def filled(pattern: str, value: str) -> str:
    """Return an address that a pattern may match, with a person in each variable."""
    numbers = {"int": "7", "float": "7"}
    path = PARAMETER.sub(lambda m: numbers.get(m[1] or "", value), pattern)
    path = GROUP.sub(value, path)
    return re.sub(r"\\(.)", r"\1", path.strip("^$")).replace("?", "")


def patterns(at: list[URLPattern | URLResolver], before: str = "") -> Iterator[str]:
    for entry in at:
        pattern_path = before + str(entry.pattern).removeprefix("^")
        if isinstance(entry, URLResolver):
            yield from patterns(entry.url_patterns, pattern_path)
        else:
            yield pattern_path


def addresses(value: str) -> list[str]:
    """Return an address for every route that takes something from its path."""
    all_patterns = {p for p in patterns(get_resolver().url_patterns) if "<" in p}
    return sorted(f"/{filled(pattern, value)}" for pattern in all_patterns)


def traces(lines: io.StringIO) -> list[str]:
    """Return the lines that name the person."""
    text = lines.getvalue().splitlines()
    return [line for line in text if NAME in line.lower() or "person.ex" in line]


def clients(world: World) -> list[Client]:
    """Return a signed-in admin and a stranger; neither stops at a fault."""
    admin = Client(raise_request_exception=False)
    admin.force_login(world.people["owner"], backend=BACKEND)
    return [admin, Client(raise_request_exception=False)]


def test_every_section_is_known_to_the_redaction() -> None:
    tops = {p.split("/")[0].strip("^$?") for p in patterns(get_resolver().url_patterns)}
    assert tops - set(log_redaction.SECTIONS) == {""}


@pytest.mark.parametrize("value", [ADDRESS, NAME])
def test_no_route_leaves_its_path_or_query_in_the_log(
    world: World, lines: io.StringIO, value: str
) -> None:
    # An address is known by its shape too; a name by its place in the route alone.
    methods = ("GET", "DELETE", "POST") if value == NAME else ("GET",)
    paths = addresses(value)
    assert len(paths) > 100
    assert any(
        resolve(path).route.endswith("<subject>/data")
        for path in paths
        if "/admin/users/" in path
    )
    for client in clients(world):
        for path in paths:
            for method in methods:
                url = f"{path}?q={value}&cursor={value}"
                client.generic(method, url, b"{}", "application/json")
    assert "request_finished" in lines.getvalue()
    assert traces(lines) == []


@pytest.mark.parametrize(
    "path",
    [
        f"/api/v1/admin/users/{ADDRESS}/data",
        f"/api/v1/gdpr/subjects?q={NAME}",
        f"/api/v1/memory/files/peers/{NAME}.md",
        f"/compat/mem0/v1/entities/user/{NAME}/",
        f"/compat/nowhere/{NAME}",
        f"/accounts/password/reset/key/{NAME}-token/",
        f"/login/{NAME}/{NAME}/",
        f"/{NAME}/nowhere",
        f"/api/v1/{NAME}",
        f"/provider/recall/{NAME}",
    ],
)
def test_a_refusal_leaves_the_route_alone(
    world: World, lines: io.StringIO, path: str
) -> None:
    for client in clients(world):
        client.delete(path)
        client.get(path)
    assert traces(lines) == []


def test_the_route_is_what_a_line_says(world: World, lines: io.StringIO) -> None:
    Client().delete(f"/api/v1/admin/users/{ADDRESS}/data")
    assert "DELETE api/v1/admin/users/<subject>/data" in lines.getvalue()


def test_a_line_says_who_is_signed_in_to_pages_and_to_the_api(
    world: World, lines: io.StringIO
) -> None:
    def logged(client: Client, path: str, **headers: str) -> str:
        """Return what is logged of a request that finds nothing."""
        start = lines.tell()
        assert client.get(path, headers=headers).status_code == 404
        return lines.getvalue()[start:]

    browser, owner = Client(), world.people["owner"]
    browser.force_login(owner, backend=BACKEND)
    path = "/api/v1/journal/j_0000000000000000"
    assert str(owner.pk) in logged(browser, "/journal/j_0000000000000000/")
    assert str(owner.pk) in logged(browser, path)
    key = logged(Client(), path, Authorization=f"Bearer {world.tokens['ada']}")
    assert "GET api/v1/journal" in key
    assert "user_id" not in key


def crash(*_args: Any, **_kwargs: Any) -> Any:
    detail = f"duplicate key\nDETAIL:  Key (email)=({ADDRESS}) already exists."
    try:
        raise KeyError(NAME)
    except KeyError as error:
        raise IntegrityError(detail) from error


def test_a_fault_names_its_type_and_its_lines_and_quotes_no_row(
    world: World, lines: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_keys, "authenticate", crash)
    monkeypatch.setattr(review_queue, "open_case_count", crash)
    key = {"Authorization": "Bearer cmk_any"}
    browser = clients(world)[0]
    api = Client(raise_request_exception=False).get(
        f"/api/v1/admin/users/{ADDRESS}/data", headers=key
    )
    page = browser.get(f"/records/{NAME}/?q={ADDRESS}")
    assert api.status_code == 500
    assert page.status_code in (404, 500)
    browser.get("/")
    text = lines.getvalue()
    assert "django.db.utils.IntegrityError" in text
    assert "in crash" in text
    assert traces(lines) == []


# ── Lines that other packages write ──────────────────────────────────────────
def request() -> Any:
    http_request = RequestFactory().get(f"/records/{NAME} Smith/", {"q": ADDRESS})
    http_request.resolver_match = resolve("/api/v1/admin/users/x/data")
    return http_request


def raised(error: Exception) -> Exception:
    """Return an error with a traceback whose frames hold a name in a variable."""
    name = ADDRESS
    try:
        raise error
    except Exception as caught:  # noqa: BLE001
        assert name
        return caught


def by_django() -> None:
    error = raised(ValueError(ADDRESS))
    log_response("%s: %s", "Error", f"/records/{NAME} Smith/", request=request(),
                 response=HttpResponse(status=500), exception=error)  # fmt: skip


def by_runserver() -> None:
    logging.getLogger("django.server").warning(
        '"%s" %s %s', f"GET /x/{NAME}?q={ADDRESS} HTTP/1.1", "404", "12",
        extra={"request": object(), "status_code": 404},
    )  # fmt: skip


def by_security() -> None:
    error = SuspiciousOperation(f"Invalid HTTP_HOST header: {ADDRESS}")
    logging.getLogger("django.security.DisallowedHost").error(
        str(error), exc_info=raised(error), extra={"request": request()}
    )
    logging.getLogger("django.security.csrf").warning(
        "Forbidden (%s): %s", f"Referer {NAME}", f"/records/{NAME} Smith/",
        extra={"request": request()},
    )  # fmt: skip


def by_waitress() -> None:
    message = f"Exception while serving /records/{NAME} Smith {NAME}/"
    error = raised(ValueError(NAME))
    logging.getLogger("waitress").error(message, exc_info=error)


def by_celery() -> None:
    error = raised(ValueError(ADDRESS))
    context = {"name": "gdpr.run", "id": "1", "description": "raised unexpected",
               "exc": repr(error), "args": f"['{NAME}']", "kwargs": "{}",
               "traceback": ADDRESS}  # fmt: skip
    logging.getLogger("celery.app.trace").error(
        "Task %(name)s[%(id)s] %(description)s: %(exc)s %(args)s\n%(traceback)s",
        context, exc_info=error, extra={"data": context},
    )  # fmt: skip


def by_a_failed_task() -> None:
    try:
        raise ValueError(f"{NAME} {ADDRESS}")
    except ValueError as error:
        CeleryReceiver().receiver_task_failure(task_id="t-1", exception=error)


def by_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(capture=False)
        logging.captureWarnings(capture=True)
        warnings.warn(f"slow: /records/{NAME}/", stacklevel=1)


def by_a_process() -> None:
    error = raised(KeyError(NAME))
    sys.excepthook(type(error), error, error.__traceback__)


def by_httpx() -> None:
    def answer(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(200)

    with httpx.Client(transport=httpx.MockTransport(answer)) as client:
        client.get(f"http://user:pw@models.example/v1/{NAME}?q={ADDRESS}")


def by_a_thread() -> None:
    error = raised(KeyError(NAME))
    failed = (type(error), error, error.__traceback__, threading.current_thread())
    logs.thread_failed(threading.ExceptHookArgs(failed))


def by_ourselves() -> None:
    log = structlog.get_logger("memory.test")
    log.warning("not_written", why=f"peers/{NAME}.md", path=f"/records/{NAME}/")
    log.error("failed", exc_info=raised(KeyError(NAME)), error=raised(KeyError(NAME)))
    not_found_error = FileNotFoundError(
        2, "No such file", f"/data/files/peers/{NAME}.md"
    )
    log.error("failed", exc_info=raised(not_found_error))
    log.error("failed", exc_info=raised(ExceptionGroup(NAME, [raised(KeyError(NAME))])))


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (by_django, "api/v1/admin/users/<subject>/data"),
        (by_runserver, "404"),
        (by_security, "DisallowedHost"),
        (by_waitress, "Exception while serving a request"),
        (by_celery, "gdpr.run"),
        (by_a_failed_task, "task_failed"),
        (by_a_warning, "UserWarning"),
        (by_a_process, "process_failed"),
        (by_httpx, "models.example"),
        (by_a_thread, "thread_failed"),
        (by_ourselves, "No such file"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_other_packages_lines_name_nobody(
    lines: io.StringIO, write: Any, expected: str
) -> None:
    write()
    assert expected in lines.getvalue()
    assert traces(lines) == []


def test_what_helps_an_operator_stays(lines: io.StringIO) -> None:
    log = structlog.get_logger("memory.test")
    locked = raised(OperationalError("database is locked"))
    log.error("job_failed", job="compact", exc_info=locked)
    text = lines.getvalue()
    assert "OperationalError: database is locked" in text
    assert "compact" in text
    assert log_redaction.clean("/work/crewship/memory/records/reading.py") == (
        "/work/crewship/memory/records/reading.py"
    )


def test_a_name_in_a_task_that_fails_does_not_reach_the_log(
    lines: io.StringIO,
) -> None:
    from crewship_memory.celery import app

    task = app.task(name="tests.crash")(crash)
    try:
        task.apply(args=(NAME,), kwargs={"who": ADDRESS})
    finally:
        app.tasks.unregister("tests.crash")
    assert "tests.crash" in lines.getvalue()
    assert traces(lines) == []
