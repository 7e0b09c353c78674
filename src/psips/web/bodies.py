"""Bodies of requests to the JSON interface, read strictly."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from psips.errors import InputError
from psips.input.strict_json import read_json


class _Strict(Request):
    async def json(self) -> Any:
        """Read the body; what is wrong with it is said as FastAPI expects."""
        try:
            return read_json(await self.body())
        except InputError as error:
            raise json.JSONDecodeError(str(error), "", 0) from None


class StrictRoute(APIRoute):
    """A route that refuses JSON in which a key comes twice, and numbers that there are not."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Hand over the request with a body that is read strictly."""
        handle = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            return await handle(_Strict(request.scope, request.receive))

        return strictly
