"""The gateway under a path of another application."""

from __future__ import annotations

from typing import Any

from dragoman.integrations.asgi import mounted


class Told:
    """An ASGI application that writes down what it is told."""

    def __init__(self, name: str, lives: bool = True, fails: str = "") -> None:
        self.name, self.lives, self.fails = name, lives, fails
        self.seen: list[tuple[str, str]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            self.seen.append((scope["path"], scope.get("root_path", "")))
            return
        assert self.lives, "I have no lifespan"
        while True:
            kind = (await receive())["type"]
            self.seen.append((kind, ""))
            if self.fails:
                await send({"type": f"{kind}.failed", "message": self.fails})
                return
            await send({"type": f"{kind}.complete"})
            if kind == "lifespan.shutdown":
                return


PATHS = [
    ("/llm/v1/messages", "", "gateway", "/llm"),
    ("/llm", "", "gateway", "/llm"),
    ("/llmx", "", "app", ""),
    ("/", "", "app", ""),
    ("/outer/llm/health", "/outer", "gateway", "/outer/llm"),
]


async def test_paths_lead_where_they_belong() -> None:
    for path, root, who, shown in PATHS:
        apps = {"app": Told("app"), "gateway": Told("gateway")}
        await mounted(apps["app"], apps["gateway"])({"type": "http", "path": path, "root_path": root}, None, None)
        assert apps[who].seen == [(path, shown or root)]
        assert sum(len(one.seen) for one in apps.values()) == 1


async def live(app: Any, *kinds: str) -> list[dict[str, Any]]:
    told, said = [{"type": f"lifespan.{kind}"} for kind in kinds], []

    async def receive() -> Any:
        return told.pop(0)

    async def send(message: Any) -> None:
        said.append(message)

    await app({"type": "lifespan"}, receive, send)
    return said


async def test_both_start_and_both_end() -> None:
    app, gateway = Told("app"), Told("gateway")
    said = await live(mounted(app, gateway), "startup", "shutdown")
    assert [one["type"] for one in said] == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert app.seen == gateway.seen == [("lifespan.startup", ""), ("lifespan.shutdown", "")]


async def test_an_application_without_a_lifespan_is_left_alone() -> None:
    app, gateway = Told("app", lives=False), Told("gateway")
    said = await live(mounted(app, gateway), "startup", "shutdown")
    assert [one["type"] for one in said] == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert len(gateway.seen) == 2


async def test_a_failed_start_is_told() -> None:
    said = await live(mounted(Told("app"), Told("gateway", fails="dragoman.yaml: no")), "startup")
    assert said == [{"type": "lifespan.startup.failed", "message": "dragoman.yaml: no"}]
