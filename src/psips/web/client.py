"""A study on a server of `psips serve`, with the words of a `Session`."""

from __future__ import annotations

import json
import secrets
import time
from collections import deque
from collections.abc import Mapping
from http.client import HTTPException
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from psips.errors import InputError, quote, unknown
from psips.web.addresses import slug

if TYPE_CHECKING:
    import pandas as pd

RETRIES = 3  # of a request that got no answer; its key makes repeating it safe
PAUSE = 0.5  # seconds before the first of them
LARGEST = 100_000_000  # bytes of an answer


class _Here(HTTPRedirectHandler):
    """Follows no redirection: a token is for the server it was given for."""

    def redirect_request(self, *_: Any) -> None:
        """Refuse."""


_OPENER = build_opener(_Here)


class ServerError(InputError):
    """The server refused a request.

    Parameters
    ----------
    code : int
        Of HTTP.
    detail : str
        The sentence.
    problems : list of dict
        Each thing that is wrong: ``message``, and ``line`` and ``field`` or None.
    """

    def __init__(self, code: int, detail: str, problems: list[dict[str, Any]]) -> None:
        self.code = code
        self.problems = problems
        super().__init__(detail)


class Client:
    """A study elsewhere: ask, tell, be told when to stop.

    A program written for a `Session` works with a client in its place. Results are told for
    the tickets that this client asked for, the oldest of an arm first; a result of another
    arm is told by its arm. Every request has a key of its own and is repeated with it if
    no answer comes, so nothing is recorded twice.

    Parameters
    ----------
    url : str
        Of the server, as ``http://127.0.0.1:8765``.
    token : str, optional
        As made by ``psips serve token add``; none where the server needs none.
    study : str, optional
        Its name; may be left out if the server has one study only.
    timeout : float
        Seconds to wait for an answer.

    Examples
    --------
    >>> Client("ftp://host")
    Traceback (most recent call last):
    psips.errors.InputError: the URL of a server begins with http:// or https://, got 'ftp://host'
    """

    def __init__(
        self, url: str, token: str | None = None, study: str | None = None, timeout: float = 60
    ) -> None:
        parts = urlsplit(str(url))
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(
                f"the URL of a server begins with http:// or https://, got {quote(url)}"
            )
        self._url = f"{parts.scheme}://{parts.netloc}/api/v1/studies"
        self._token = token
        self._timeout = timeout
        self.study = self._choose(study)
        self._tickets: dict[tuple[str, str], deque[str]] = {}  # asked for here and not yet told

    def _choose(self, study: str | None) -> str:
        names = [row["study"] for row in self._send("GET", "")["studies"]]
        if study is None and len(names) == 1:
            return str(names[0])
        if study is None:
            raise InputError(
                f"the server has {len(names)} studies: name one with study=..., known: "
                f"{', '.join(map(quote, names)) or 'none'}"
            )
        if study not in names:
            raise unknown("study", study, names)
        return study

    def ask(self, n: int | None = None) -> Any:
        """Return the arm to measure next, or the next ``n``; with items (arm, item) for each.

        Parameters
        ----------
        n : int, optional
            How many; a list is returned if it is given.
        """
        body = {"n": 1 if n is None else n, "anyway": True}
        tickets = self._post("ask", body)["tickets"]
        for ticket in tickets:
            asked = _asked(ticket["arm"], ticket.get("item"))
            self._tickets.setdefault(asked, deque()).append(ticket["id"])
        found = [(t["arm"], t["item"]) if "item" in t else str(t["arm"]) for t in tickets]
        return found[0] if n is None else found

    def tell(self, arm: Any, values: Any = None, *, block: str | None = None) -> dict[str, Any]:
        """Record one result, or a table of many, and return what became of it.

        Parameters
        ----------
        arm : str or DataFrame
            A DataFrame has a column ``arm`` or ``ticket`` and a column per objective.
        values : mapping by objective, sequence in their order, or number if there is one
            Left out with a DataFrame.
        block : str, optional
            The item that was measured, if the arms share items.
        """
        if hasattr(arm, "to_dict"):
            if values is not None:
                raise InputError("a table of results has its values in it: give nothing else")
            rows = [{k: _plain(v) for k, v in row.items()} for row in arm.to_dict("records")]
            return self._post("tell-many", {"rows": rows})
        waiting = self._tickets.get(_asked(arm, block))
        body: dict[str, Any] = {"values": _plain(values)}
        named = {"arm": str(arm)} | ({} if block is None else {"item": str(block)})
        body |= {"ticket": waiting[0]} if waiting else named
        told = self._post("tell", body)
        if waiting:
            waiting.popleft()
        return told

    def cancel(self, arm: str, n: int = 1, *, block: str | None = None) -> None:
        """Take back asks of this client that will have no result.

        Parameters
        ----------
        arm : str
        n : int
            How many times.
        block : str, optional
            The item that was asked for with the arm.
        """
        waiting = self._tickets.get(_asked(arm, block), deque())
        if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= len(waiting):
            raise InputError(
                f"arm {quote(str(arm))} has {len(waiting)} asks of this client without a "
                f"result, so {quote(n)} cannot be taken back"
            )
        self._post("cancel", {"tickets": [waiting[i] for i in range(n)]})
        for _ in range(n):
            waiting.popleft()

    def correct(self, result: int, values: Any, reason: str = "") -> dict[str, Any]:
        """Replace values of the result with this number; the old ones stay in the log."""
        body = {"result": result, "values": _plain(values), "reason": reason}
        return self._post("correct", body)

    def withdraw(self, result: int, reason: str = "") -> dict[str, Any]:
        """Take the result with this number out of the count, for good."""
        return self._post("withdraw", {"result": result, "reason": reason})

    def status(self) -> dict[str, Any]:
        """Return what is known now, as ``psips study status --json`` prints it, and more."""
        return self._send("GET", f"/{slug(self.study)}")

    @property
    def stopped(self) -> bool:
        """Whether the stopping rule holds for the results told so far."""
        return bool(self.status()["stopped"])

    @property
    def done(self) -> bool:
        """Whether to end the loop: stopped, closed, or out of budget, time or items."""
        return bool(self.status()["done"])

    @property
    def candidate_set(self) -> tuple[str, ...]:
        """Pareto set of the estimates."""
        return tuple(self.status()["candidate_set"])

    @property
    def pareto_set(self) -> tuple[str, ...] | None:
        """The answer, once the study has stopped; None before."""
        found = self.status()["pareto_set"]
        return None if found is None else tuple(found)

    @property
    def results(self) -> int:
        """Number of results that count."""
        return int(self.status()["results"])

    @property
    def pulls(self) -> dict[str, int]:
        """Number of results of each arm."""
        return {arm: int(row["pulls"]) for arm, row in self.status()["arms"].items()}

    @property
    def pending(self) -> dict[str, int]:
        """Number of open tickets of each arm, whoever asked for them."""
        return {arm: int(row["pending"]) for arm, row in self.status()["arms"].items()}

    def to_frame(self) -> pd.DataFrame:
        """Return the results that count as a DataFrame: arm, and a column per objective."""
        import pandas as pd

        rows: list[dict[str, Any]] = []
        told, seen = 1, 0
        while seen < told:
            path = f"/{slug(self.study)}/results?after={seen}&limit=10000"
            found = self._send("GET", path)
            rows += found["results"]
            told, seen = found["told"], seen + max(1, len(found["results"]))
        counted = [row for row in rows if not (row["withdrawn"] or row["held"])]
        numbers = pd.Index([row["number"] for row in counted], name="result", dtype="int64")
        columns = ["arm", *self.status()["objectives"]]
        data = [{"arm": row["arm"], **row["values"]} for row in counted]
        return pd.DataFrame(data, columns=columns, index=numbers)

    def _post(self, word: str, body: Mapping[str, Any]) -> dict[str, Any]:
        keyed = {**body, "key": secrets.token_hex(8)}
        return self._send("POST", f"/{slug(self.study)}/{word}", keyed)

    def _send(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Send a request, again if no answer comes or the server says that it may be."""
        pause = PAUSE
        for left in range(RETRIES, -1, -1):
            try:
                return self._once(method, path, body)
            except ServerError as error:
                if error.code not in (503, 504) or not left:
                    raise
            except (URLError, HTTPException, OSError) as error:
                if not left:
                    reason = getattr(error, "reason", None) or error
                    known = "" if body is None else "; it is not known whether it was recorded"
                    raise InputError(
                        f"the server {self._url.removesuffix('/api/v1/studies')} does not "
                        f"answer: {str(reason)[:200]}{known}"
                    ) from None
            time.sleep(pause)
            pause *= 2
        raise AssertionError

    def _once(self, method: str, path: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        headers = {"accept": "application/json"}
        if self._token is not None:
            headers["authorization"] = f"Bearer {self._token}"
        data = None
        if body is not None:
            headers["content-type"] = "application/json"
            data = json.dumps(body).encode()
        asked = Request(f"{self._url}{path}", data, headers, method=method)
        try:
            with _OPENER.open(asked, timeout=self._timeout) as answer:
                return dict(json.loads(answer.read(LARGEST)))
        except HTTPError as error:
            raise _refusal(error) from None


def _refusal(error: HTTPError) -> ServerError:
    """Read what a server says against a request."""
    try:
        data = json.loads(error.read(LARGEST))
        return ServerError(error.code, str(data["detail"]), list(data["problems"]))
    except (ValueError, KeyError, TypeError):
        return ServerError(error.code, f"the server answers {error.code} {error.reason}", [])


def _plain(value: Any) -> Any:
    """Return values as JSON can hold them."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if hasattr(value, "tolist"):  # of NumPy or pandas
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and value != value else value


def _asked(arm: object, item: object) -> tuple[str, str]:
    """Return what tickets are kept under."""
    return str(arm), "" if item is None else str(item)
