"""The capability contract's base class, registry and service, on a made-up provider."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.integrations.atomicmemory.contract import errors as contract_errors
from memory.integrations.atomicmemory.contract import extensions, types
from memory.integrations.atomicmemory.contract.base import MemoryProvider
from memory.integrations.atomicmemory.contract.extensions import (
    Capabilities,
    Custom,
    Extensions,
)
from memory.integrations.atomicmemory.contract.registry import (
    MemoryService,
    ProviderRegistry,
)
from memory.rules import errors

REF = {"id": "m1", "scope": {"user": "u"}}
CALLS: dict[str, Callable[[Any, dict[str, str]], Any]] = {
    "ingest": lambda p, s: p.ingest({"mode": "text", "content": "x", "scope": s}),
    "search": lambda p, s: p.search({"query": "x", "scope": s}),
    "get": lambda p, s: p.get({"id": "m1", "scope": s}),
    "delete": lambda p, s: p.delete({"id": "m1", "scope": s}),
    "list": lambda p, s: p.list({"scope": s}),
}


class Little(MemoryProvider):
    """A provider with a chosen behaviour that records its calls."""

    name = "little"

    def __init__(
        self,
        *,
        required: dict[str, list[str]] | None = None,
        flags: dict[str, bool] | None = None,
        declared: dict[str, Custom] | None = None,
        custom: Mapping[str, object] | None = None,
        fails: Exception | None = None,
    ) -> None:
        super().__init__(custom=custom)
        self.required = required or {"default": ["user"]}
        self.flags, self.declared, self.fails = flags or {}, declared, fails
        self.touched: list[str] = []
        self.opened = 0

    def capabilities(self) -> Capabilities:
        return Capabilities(
            ingest_modes=["text"],
            required_scope=self.required,
            extensions=Extensions(**self.flags),
            custom_extensions=self.declared,
        )

    def _open(self) -> None:
        self.opened += 1

    def _touch(self, operation: str, request: object) -> None:
        assert request
        self.touched.append(operation)
        if self.fails is not None:
            raise self.fails

    def _ingest(self, request: types.Ingest) -> types.IngestResult:
        self._touch("ingest", request)
        return types.IngestResult(created=["m1"])

    def _search(self, request: types.SearchRequest) -> types.SearchResultPage:
        self._touch("search", request)
        return types.SearchResultPage(results=[])

    def _get(self, ref: types.MemoryRef) -> types.Memory | None:
        self._touch("get", ref)
        return None

    def _delete(self, ref: types.MemoryRef) -> None:
        self._touch("delete", ref)

    def _list(self, request: types.ListRequest) -> types.ListResultPage:
        self._touch("list", request)
        return types.ListResultPage(memories=[])


class Healthy(Little):
    name = "healthy"

    def health(self) -> types.HealthStatus:
        return types.HealthStatus(ok=True)


def ready(**options: Any) -> Little:
    provider = Little(**options)
    provider.initialize()
    return provider


# ── Order of a call ──────────────────────────────────────────────────────────
@pytest.mark.parametrize("operation", CALLS)
@pytest.mark.parametrize("scope", [{}, {"user": ""}, {"agent": "a"}])
def test_a_scope_without_its_user_touches_nothing(
    operation: str, scope: dict[str, str]
) -> None:
    provider = ready()

    with pytest.raises(
        contract_errors.InvalidScopeError, match=r"scope\.user"
    ) as caught:
        CALLS[operation](provider, scope)

    assert (caught.value.operation, caught.value.missing) == (operation, ["user"])
    assert caught.value.status == 422
    assert provider.touched == []


@given(
    needed=st.sets(st.sampled_from(types.SCOPE_FIELDS)),
    present=st.dictionaries(
        st.sampled_from(types.SCOPE_FIELDS), st.sampled_from("ab ")
    ),
)
def test_exactly_what_is_missing_is_named(
    needed: set[str], present: dict[str, str]
) -> None:
    provider = ready(required={"default": [], "search": sorted(needed)})
    absent = sorted(name for name in needed if not present.get(name))

    if not absent:
        CALLS["search"](provider, present)
    else:
        with pytest.raises(contract_errors.InvalidScopeError) as caught:
            CALLS["search"](provider, present)
        assert caught.value.missing == absent
    assert provider.touched == ([] if absent else ["search"])
    CALLS["get"](provider, {})


@pytest.mark.parametrize("operation", CALLS)
def test_nothing_works_before_the_start_nor_after_the_end(operation: str) -> None:
    provider = Little()
    with pytest.raises(contract_errors.NotInitializedError):
        CALLS[operation](provider, {})
    provider.initialize()
    provider.close()
    with pytest.raises(contract_errors.NotInitializedError):
        CALLS[operation](provider, {"user": "u"})
    assert provider.touched == []


@pytest.mark.parametrize("operation", CALLS)
def test_an_unexpected_error_is_wrapped_with_its_cause(operation: str) -> None:
    cause = RuntimeError("secret: hunter2")
    provider = ready(fails=cause)

    with pytest.raises(contract_errors.ProviderError) as caught:
        CALLS[operation](provider, {"user": "u"})

    assert caught.value.__cause__ is cause
    assert (caught.value.provider, caught.value.operation) == ("little", operation)
    assert "hunter2" not in str(caught.value)


def test_a_refusal_of_the_house_keeps_what_it_says() -> None:
    provider = ready(fails=errors.TooLarge(what="content", limit=1, size=2))

    with pytest.raises(
        contract_errors.ProviderError, match="may hold 1 bytes"
    ) as caught:
        CALLS["ingest"](provider, {"user": "u"})

    assert (caught.value.status, caught.value.problem_code) == (413, "too_large")


def test_an_error_of_the_contract_passes_unchanged() -> None:
    cause = contract_errors.RateLimitError("slower", retry_after_seconds=2.4)
    provider = ready(fails=cause)

    with pytest.raises(contract_errors.RateLimitError) as caught:
        CALLS["search"](provider, {"user": "u"})

    assert caught.value is cause
    assert (cause.status, cause.fields["retry_after"]) == (429, 2)
    assert cause.retry_after_ms == 2_400


# ── What comes in ────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    "bad",
    [
        {"mode": "telepathy", "content": "x", "scope": {"user": "u"}},
        {"content": "x", "scope": {"user": "u"}},
        {"mode": "text", "content": "x", "scope": {"user": "u"}, "extra": 1},
        {"mode": "text", "content": "x", "scope": {"user": "u", "planet": "x"}},
        {"mode": "text", "content": "", "scope": {"user": "u"}},
        {"mode": "text", "content": 7, "scope": {"user": "u"}},
        {"mode": "messages", "messages": [], "scope": {"user": "u"}},
        {
            "mode": "messages",
            "messages": [{"role": "boss", "content": "x"}],
            "scope": {"user": "u"},
        },
        {"mode": "verbatim", "content": "x", "kind": "rumour", "scope": {"user": "u"}},
    ],
)
def test_what_is_no_ingest_is_refused_before_the_store(bad: dict[str, Any]) -> None:
    provider = ready()
    with pytest.raises(contract_errors.ValidationError):
        provider.ingest(bad)
    assert provider.touched == []


@pytest.mark.parametrize("mode", ["messages", "message", "verbatim", "memory"])
def test_a_mode_that_is_not_declared_is_refused(mode: str) -> None:
    provider = ready()
    request: dict[str, Any] = {"mode": mode, "scope": {"user": "u"}, "content": "x"}
    if mode.startswith("message"):
        del request["content"]
        request["messages"] = [{"role": "user", "content": "x"}]

    with pytest.raises(contract_errors.UnsupportedOperationError):
        provider.ingest(request)
    assert provider.touched == []


def test_both_spellings_are_read_and_one_is_written() -> None:
    request = types.PackageRequest.model_validate(
        {"query": "q", "scope": {"user": "u"}, "tokenBudget": 7}
    )
    assert request == types.PackageRequest(
        query="q", scope=types.Scope(user="u"), token_budget=7
    )
    assert request.to_json() == {"query": "q", "scope": {"user": "u"}, "tokenBudget": 7}


@pytest.mark.parametrize("value", [None, 1, "true", 0])
def test_a_package_says_true_or_false(value: Any) -> None:
    shape = {"text": "", "results": [], "tokens": 0}
    with pytest.raises(ValueError, match="budgetConstrained"):
        types.ContextPackage.model_validate({**shape, "budgetConstrained": value})
    with pytest.raises(ValueError, match="budgetConstrained"):
        types.ContextPackage.model_validate(shape)
    package = types.ContextPackage.model_validate({**shape, "budgetConstrained": True})
    assert package.budget_constrained is True


# ── Extensions ───────────────────────────────────────────────────────────────
def test_an_extension_is_found_in_three_steps() -> None:
    other = object()
    provider = Healthy(
        flags={"health": True},
        declared={"acme.audit": Custom(version="1")},
        custom={"acme.audit": other},
    )
    provider.initialize()

    assert provider.get_extension("health") is provider
    assert provider.get_extension("package") is None
    assert provider.get_extension("acme.audit") is other
    assert provider.get_extension("nobody") is None


@pytest.mark.parametrize(
    "extension", extensions.TEN, ids=lambda extension: extension.name
)
def test_seed_names_mean_the_same_ten(extension: extensions.Extension) -> None:
    assert extensions.ALIASES[extension.alias] == extension.name
    assert extension.name in Extensions.model_fields


@pytest.mark.parametrize(
    "extension", extensions.TEN, ids=lambda extension: extension.name
)
def test_a_flag_without_its_method_is_no_start(extension: extensions.Extension) -> None:
    liar = Little(flags={extension.name: True})
    with pytest.raises(contract_errors.ConfigError, match=extension.name):
        liar.initialize()
    assert not liar.is_ready
    assert liar.opened == 0


def test_a_method_without_its_flag_is_no_start_either() -> None:
    with pytest.raises(contract_errors.ConfigError, match="health is not declared"):
        Healthy().initialize()


@pytest.mark.parametrize(
    "options",
    [{"declared": {"acme.x": Custom()}}, {"custom": {"acme.x": object()}}],
    ids=["declared", "there"],
)
def test_a_custom_extension_is_declared_and_there(options: dict[str, Any]) -> None:
    with pytest.raises(contract_errors.ConfigError, match=r"acme\.x"):
        Little(**options).initialize()


@pytest.mark.parametrize(
    "required", [{"default": ["planet"]}, {"default": [], "dance": ["user"]}]
)
def test_required_scope_knows_its_words(required: dict[str, list[str]]) -> None:
    with pytest.raises(ValueError, match="knows no"):
        Capabilities(ingest_modes=["text"], required_scope=required)


# ── Lifecycle ────────────────────────────────────────────────────────────────
def test_a_provider_starts_once_from_many_threads() -> None:
    provider = Little()
    threads = [threading.Thread(target=provider.initialize) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (provider.opened, provider.is_ready) == (1, True)
    provider.close()
    provider.close()
    provider.initialize()
    assert provider.opened == 2


class Broken(Little):
    name = "broken"
    shut = 0

    def _open(self) -> None:
        raise OSError("no disk")

    def _shut(self) -> None:
        self.shut += 1


def _give(providers: dict[str, Any], name: str, _options: Mapping[str, Any]) -> Any:
    return providers[name]


def service(*names: str, default: str | None = None, **providers: Any) -> MemoryService:
    registry = ProviderRegistry()
    for name in providers:
        registry.register(name, partial(_give, providers, name))
    return MemoryService(registry, {name: {} for name in names}, default=default)


def test_a_name_is_registered_once_and_names_are_sorted() -> None:
    registry = ProviderRegistry()
    registry.register("b", lambda _: Little())
    registry.register("a", lambda _: Little())
    with pytest.raises(ValueError, match="already"):
        registry.register("a", lambda _: Little())
    assert registry.names() == ["a", "b"]


def test_a_failed_start_leaves_nobody_half_open() -> None:
    good, bad = Little(), Broken()
    memory_service = service("good", "bad", good=good, bad=bad)

    for _ in range(2):
        with pytest.raises(OSError, match="no disk"):
            memory_service.initialize()

    assert (good.is_ready, bad.is_ready) == (False, False)
    assert (good.opened, bad.shut) == (1, 1)
    with pytest.raises(contract_errors.NotInitializedError):
        memory_service.provider()


def test_an_unknown_default_is_no_start_and_another_unknown_is_left_out() -> None:
    with pytest.raises(contract_errors.ConfigError):
        service("nobody").initialize()
    memory_service = service("good", "nobody", good=Little())
    memory_service.initialize()
    memory_service.initialize()
    assert memory_service.status() == {"good": True, "nobody": False}


def test_a_stop_closes_all_and_raises_the_first_error() -> None:
    class Clinging(Little):
        def _shut(self) -> None:
            raise OSError("busy")

    clinging, little = Clinging(), Little()
    memory_service = service("one", "two", one=clinging, two=little)
    memory_service.close()
    memory_service.initialize()
    with pytest.raises(OSError, match="busy"):
        memory_service.close()
    assert (clinging.is_ready, little.is_ready) == (False, False)
    memory_service.initialize()
    assert memory_service.provider("two") is little


def test_a_package_without_a_packager_is_unsupported() -> None:
    memory_service = service("good", good=Little())
    memory_service.initialize()
    with pytest.raises(contract_errors.UnsupportedOperationError):
        memory_service.package({"query": "q", "scope": {"user": "u"}})
    assert memory_service.get({**REF}) is None
    assert memory_service.ingest(
        {"mode": "text", "content": "x", "scope": {"user": "u"}}
    ).created


@pytest.mark.parametrize(
    ("name", "parent"),
    [
        ("ConfigError", "AtomicMemoryError"),
        ("ConfigurationError", "AtomicMemoryError"),
        ("ValidationError", "AtomicMemoryError"),
        ("InvalidScopeError", "ValidationError"),
        ("NotInitializedError", "AtomicMemoryError"),
        ("ProviderError", "AtomicMemoryError"),
        ("MemoryProviderError", "AtomicMemoryError"),
        ("PendingIngestError", "ProviderError"),
        ("UnsupportedOperationError", "ProviderError"),
        ("RateLimitError", "ProviderError"),
        ("NetworkError", "AtomicMemoryError"),
        ("MemoryToolError", "Exception"),
        ("UnsupportedCapabilityError", "StorageClientError"),
        ("ArtifactNotFoundError", "StorageClientError"),
        ("ArtifactInUseError", "StorageClientError"),
        ("PointerContentNotManagedError", "StorageClientError"),
        ("FilecoinDirectStorageNotSupportedError", "StorageClientError"),
        ("EntitiesClientError", "AtomicMemoryError"),
    ],
)
def test_the_error_tree_has_every_name(name: str, parent: str) -> None:
    error_class = getattr(contract_errors, name)
    assert parent in [kind.__name__ for kind in error_class.__mro__]
