"""A small gateway that puts two MCP servers behind one address, made with FastMCP.

`python gateway.py PORT PROXY_PORT` serves on 127.0.0.1:

    /mcp/all      every tool of both servers, as far as the bearer token's scopes go
    /mcp/search   handed on to the tool-search proxy on PROXY_PORT, which has /mcp/all as its upstream

A bearer token is needed on both routes; what each may use is in TOKENS.
"""

import json
import sys
from contextlib import asynccontextmanager

import httpx2
import uvicorn
from fastmcp import FastMCP
from fastmcp.server.auth import require_scopes
from fastmcp.server.auth.providers.jwt import StaticTokenVerifier
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Mount, Route

TOKENS = {
    "e2e-keeper": {"client_id": "keeper", "scopes": ["orchard", "ferry"]},
    "e2e-gardener": {"client_id": "gardener", "scopes": ["orchard"]},
    "e2e-passenger": {"client_id": "passenger", "scopes": ["ferry"]},
}
READS = {"readOnlyHint": True}
WRITES = {"readOnlyHint": False, "destructiveHint": True}

orchard = FastMCP("orchard")
ferry = FastMCP("ferry")
ORCHARD = require_scopes("orchard")
FERRY = require_scopes("ferry")

trees = {"t1": {"kind": "pear", "row": 3}, "t2": {"kind": "quince", "row": 9}}
seats: dict[str, int] = {}


@orchard.tool(annotations=READS, auth=ORCHARD)
def list_trees(kind: str | None = None) -> list[dict]:
    """List the trees of the orchard, all of them or those of one kind of fruit."""
    return [{"id": key, **tree} for key, tree in trees.items() if kind in (None, tree["kind"])]


@orchard.tool(annotations=READS, auth=ORCHARD)
def forecast_harvest(tree: str, weeks: int = 4) -> dict:
    """Estimate how many kilograms of fruit one tree will give in the coming weeks."""
    return {"tree": tree, "kilograms": 7 * weeks, "note": "ąžuolas 海"}


@orchard.tool(annotations=WRITES, auth=ORCHARD)
def fell_tree(tree: str) -> str:
    """Cut a tree down for good and take it off the map."""
    del trees[tree]
    return f"{tree} was felled"


@ferry.tool(annotations=READS, auth=FERRY)
def next_departure(pier: str) -> str:
    """Tell when the next boat leaves from a pier."""
    return f"The next boat from {pier} leaves at 14:05."


@ferry.tool(annotations=WRITES, auth=FERRY)
def reserve_seats(boat: str, count: int) -> dict:
    """Book places for passengers on a boat."""
    seats[boat] = seats.get(boat, 0) + count
    return {"boat": boat, "reserved": seats[boat]}


@ferry.tool(annotations=READS, auth=FERRY)
def broken_turnstile() -> str:
    """Count the passengers who went through the gate today."""
    raise ValueError("the counter is stuck")


for number in range(60):

    def read_gauge(station: str, number: int = number) -> str:
        return f"gauge {number} of {station}: {number * 1.5} cm"

    ferry.tool(
        read_gauge,
        name=f"read_water_gauge_{number}",
        description=f"Read the water level at gauge number {number} along the ferry's way.",
        annotations=READS,
        auth=FERRY,
    )

gateway = FastMCP(
    "e2e-gateway",
    instructions="Trees are named t1, t2 and so on. Piers are named after the nearest street.",
    auth=StaticTokenVerifier(tokens=TOKENS),
    list_page_size=20,
)
gateway.mount(orchard, namespace="orchard")
gateway.mount(ferry, namespace="ferry")


def main(port: int, proxy_port: int) -> None:
    mcp_app = gateway.http_app(path="/mcp/all", stateless_http=True)
    client = httpx2.AsyncClient(timeout=None, trust_env=False)
    hop_by_hop = {"connection", "keep-alive", "transfer-encoding", "content-length", "host"}

    async def search(request):
        headers = [(k, v) for k, v in request.headers.items() if k not in hop_by_hop]
        upstream = client.build_request(
            request.method,
            f"http://127.0.0.1:{proxy_port}/mcp",
            headers=headers,
            content=await request.body(),
        )
        answer = await client.send(upstream, stream=True)

        async def body():
            try:
                async for chunk in answer.aiter_raw():
                    yield chunk
            finally:
                await answer.aclose()

        kept = {k: v for k, v in answer.headers.items() if k not in hop_by_hop}
        return StreamingResponse(body(), status_code=answer.status_code, headers=kept)

    @asynccontextmanager
    async def lifespan(app):
        async with mcp_app.lifespan(app):
            print(json.dumps({"port": port}), flush=True)
            yield
        await client.aclose()

    app = Starlette(
        routes=[
            Route("/mcp/search", search, methods=["GET", "POST", "DELETE"]),
            Mount("/", app=mcp_app),
        ],
        lifespan=lifespan,
    )
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", timeout_graceful_shutdown=2)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
