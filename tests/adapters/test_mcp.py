"""Studies as tools of an agent, by the client of the package itself (tested with mcp 2.3)."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("mcp.server.mcpserver")

from mcp import Client, StdioServerParameters

from psips import Study
from psips.adapters.mcp import NOT_YET, server

SOURCE = Path(__file__).parents[2] / "src"
TRUTH = {"small": (0.0, 1.0), "large": (2.0, 3.0), "bad": (-2.0, 5.0)}
RIGHT = ["small", "large"]
DESIGN = {
    "name": "models",
    "options": list(TRUTH),
    "metrics": {"quality": "max", "cost": "min"},
    "seed": 1,
}
Call = Callable[..., Awaitable[Any]]


def talk(talking: Callable[[Call], Awaitable[None]], to: Any) -> None:
    """Let a client call tools: results are plain data, and errors AssertionErrors."""

    async def go() -> None:
        async with Client(to) as client:

            async def call(name: str, /, **given: Any) -> Any:
                found = await client.call_tool(name, given)
                text = found.content[0].text
                assert not found.is_error, text
                data = found.structured_content
                return data["result"] if set(data or {}) == {"result"} else data

            call.client = client  # type: ignore[attr-defined]
            await talking(call)

    asyncio.run(go())


def url(folder: Path) -> str:
    return f"sqlite:///{folder / 'lab.db'}"


async def measured(call: Call, most: int = 400) -> list[dict[str, Any]]:
    """Measure as told until the stop; return what each call said."""
    rng, said = np.random.default_rng(1), []
    for _ in range(most):
        asked = await call("ask", study="models")
        said.append(asked)
        if not asked["tickets"]:
            break
        ticket = asked["tickets"][0]
        quality, cost = rng.normal(TRUTH[ticket["option"]], 0.5).tolist()
        values = {"quality": quality, "cost": cost}
        said.append(await call("tell", study="models", ticket=ticket["ticket"], values=values))
    return said


def test_an_agent_works_on_a_study_until_it_stops(tmp_path: Path) -> None:
    async def talking(call: Call) -> None:
        tools = (await call.client.list_tools()).tools  # type: ignore[attr-defined]
        assert {tool.name for tool in tools} == {
            *("list_studies", "create_study", "ask", "tell", "status", "report")
        }
        assert all(tool.description for tool in tools)
        made = await call("create_study", **DESIGN)
        assert made["study"] == "models"
        said = await measured(call)
        assert said[-1]["stopped"]
        assert said[-1]["pareto_set"] == RIGHT
        assert "90% confidence" in said[-1]["claim"]
        first = next(k for k, one in enumerate(said) if one["stopped"])
        assert first > 10
        for one in said[:first]:
            assert one["pareto_set"] is None
            assert one["claim"] == NOT_YET
        listed = await call("list_studies")
        assert listed["studies"][0]["stopped"]

    talk(talking, server(url(tmp_path)))


def test_nothing_is_claimed_before_the_stop(tmp_path: Path) -> None:
    async def talking(call: Call) -> None:
        await call("create_study", **DESIGN, delta=1e-9)
        await measured(call, 12)
        status = await call("status", study="models")
        assert status["results"] == 12
        assert not status["stopped"]
        assert status["pareto_set"] is None
        assert status["claim"] == NOT_YET
        assert status["candidates"]
        assert "verdict" not in str(status)
        report = await call("report", study="models")
        assert "nothing is claimed" in report
        assert "Pareto set:" not in report.split("<details>")[0]

    talk(talking, server(url(tmp_path)))


def test_mistakes_are_sentences_and_record_nothing(tmp_path: Path) -> None:
    async def talking(call: Call) -> None:
        await call("create_study", **DESIGN)
        values = {"quality": 1.0, "cost": 1.0}
        wrong = [
            ("unknown study 'modles'", "status", {"study": "modles"}),
            ("did you mean 'small'", "tell", {"option": "smal", "values": values}),
            ("either the ticket or the option", "tell", {"values": values}),
            ("cost", "tell", {"option": "small", "values": {"quality": 1.0}}),
            ("less than or equal to 100", "ask", {"n": 1000}),
            ("already", "create_study", DESIGN),
            ("better", "create_study", {**DESIGN, "name": "x", "metrics": {"q": "best"}}),
        ]
        for words, tool, given in wrong:
            asked = given if tool == "create_study" else {"study": "models", **given}
            with pytest.raises(AssertionError) as caught:
                await call(tool, **asked)
            assert "Traceback" not in str(caught.value)
            if words != "better":
                assert words in str(caught.value), (words, str(caught.value))
        assert (await call("status", study="models"))["results"] == 0
        assert len((await call("list_studies"))["studies"]) == 1

    talk(talking, server(url(tmp_path)))


def test_a_ticket_told_twice_counts_once(tmp_path: Path) -> None:
    async def talking(call: Call) -> None:
        await call("create_study", **DESIGN, items=["q1", "q2"], only_these=True)
        assert Study.open("models", url(tmp_path)).state.session.of == "these"
        ticket = (await call("ask", study="models"))["tickets"][0]
        assert ticket["item"] == "q1"
        told = {"ticket": ticket["ticket"], "values": {"quality": 1.0, "cost": 2.0}}
        assert (await call("tell", study="models", **told))["recorded"] == [1]
        again = await call("tell", study="models", **told)
        assert again["recorded"] == []
        assert again["known_already"] == 1

    talk(talking, server(url(tmp_path)))


def test_looking_only(tmp_path: Path) -> None:
    async def talking(call: Call) -> None:
        tools = (await call.client.list_tools()).tools  # type: ignore[attr-defined]
        assert {tool.name for tool in tools} == {"list_studies", "status", "report"}
        assert all(tool.annotations.read_only_hint for tool in tools)

    talk(talking, server(url(tmp_path), read_only=True))


def test_the_command_speaks_over_standard_input_and_output(tmp_path: Path) -> None:
    async def talking(call: Call) -> None:
        await call("create_study", **DESIGN)
        said = await measured(call, 15)
        assert len(said) == 30
        assert (await call("status", study="models"))["results"] == 15

    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    words = ["-m", "psips", "mcp", "--store", url(tmp_path)]
    talk(talking, StdioServerParameters(command=sys.executable, args=words, env=env))
