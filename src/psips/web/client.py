"""A study on a server of `psips serve`, with the words of a `Session`."""

from __future__ import annotations

import json
import secrets
import time
from collections import deque
from collections.abc import Mapping
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, overload
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from psips.errors import InputError, quote, unknown
from psips.input.former_names import read_renamed
from psips.session.tickets import Receipt, Ticket
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
    """A study on a server: ask, tell, and learn when to stop.

    A program written for a `Session` works with a client instead. A result that is told
    by its arm counts for the oldest ticket of the arm that this client has asked for, if there
    is one. Every request has its own key; the client repeats a request that got no answer
    with the same key, so nothing is recorded twice.

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
        self._waiting: dict[tuple[str, str | None], deque[str]] = {}  # ids not yet told, by ask

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

    @overload
    def ask(self, n: None = None) -> Ticket: ...

    @overload
    def ask(self, n: int) -> list[Ticket]: ...

    def ask(self, n: int | None = None) -> Ticket | list[Ticket]:
        """Return a ticket for the next measurement, or a list of the next ``n``.

        The ticket's text is the arm to measure; its item, if the arms share items, is what to
        measure it on.

        Parameters
        ----------
        n : int, optional
            How many; a list is returned if it is given.
        """
        body = {"n": 1 if n is None else n, "anyway": True}
        given = self._post("ask", body)["tickets"]
        tickets = [Ticket(str(t["arm"]), t.get("item"), str(t["id"])) for t in given]
        for ticket in tickets:
            self._waiting.setdefault((ticket.arm, ticket.item), deque()).append(ticket.id)
        return tickets[0] if n is None else tickets

    def tell(
        self,
        arm: Any,
        values: Any = None,
        *,
        item: str | None = None,
        block: str | None = None,
    ) -> Receipt:
        """Record one result, or a table of many, and return what became of it.

        Parameters
        ----------
        arm : Ticket, str or DataFrame
            What was measured: the ticket that asked for it, or the arm. A DataFrame has a
            column ``arm`` or ``ticket`` and a column per objective.
        values : mapping by objective, sequence in their order, or number if there is one
            Left out with a DataFrame.
        item : str, optional
            The item that was measured, if the arms share items; that of the ticket if there
            is one.
        block
            The former name of ``item``.
        """
        item = read_renamed("item", item, "block", block)
        if hasattr(arm, "to_dict"):
            if values is not None:
                raise InputError("a table of results has its values in it: give nothing else")
            rows = [{k: _plain(v) for k, v in row.items()} for row in arm.to_dict("records")]
            return _receipt(self._post("tell-many", {"rows": rows}))
        waiting = self._waiting.get(_asked(arm, item), deque())
        ticket = arm.id if isinstance(arm, Ticket) else ""
        ticket = ticket or (waiting[0] if waiting else "")
        body: dict[str, Any] = {"values": _plain(values)}
        body |= {"ticket": ticket} if ticket else {"arm": str(arm)}
        body |= {} if item is None else {"item": str(item)}
        told = self._post("tell", body)
        if ticket in waiting:
            waiting.remove(ticket)
        return _receipt(told)

    def cancel(
        self,
        arm: Ticket | str,
        n: int = 1,
        *,
        item: str | None = None,
        block: str | None = None,
    ) -> None:
        """Take back asks of this client that will have no result.

        Parameters
        ----------
        arm : Ticket or str
            The ticket of the ask, or the arm that was asked for.
        n : int
            How many asks of an arm.
        item : str, optional
            The item that was asked for with the arm; that of the ticket if there is one.
        block
            The former name of ``item``.
        """
        item = read_renamed("item", item, "block", block)
        waiting = self._waiting.get(_asked(arm, item), deque())
        if isinstance(arm, Ticket) and arm.id and n == 1:
            tickets = [arm.id]
        elif isinstance(n, int) and not isinstance(n, bool) and 1 <= n <= len(waiting):
            tickets = [waiting[i] for i in range(n)]
        else:
            raise InputError(
                f"arm {quote(str(arm))} has {len(waiting)} asks of this client without a "
                f"result, so {quote(n)} cannot be taken back"
            )
        self._post("cancel", {"tickets": tickets})
        for ticket in tickets:
            if ticket in waiting:
                waiting.remove(ticket)

    def correct(self, result: int, values: Any, reason: str = "") -> Receipt:
        """Replace values of the result with this number; the old ones stay in the log."""
        body = {"result": result, "values": _plain(values), "reason": reason}
        return _receipt(self._post("correct", body))

    def withdraw(self, result: int, reason: str = "") -> Receipt:
        """Take the result with this number out of the count, for good."""
        return _receipt(self._post("withdraw", {"result": result, "reason": reason}))

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


def _asked(arm: object, item: object) -> tuple[str, str | None]:
    """Return what ids of tickets are kept under: the arm, and the item given or asked for."""
    if item is None and isinstance(arm, Ticket):
        item = arm.item
    return str(arm), None if item is None else str(item)


def _receipt(data: Mapping[str, Any]) -> Receipt:
    """Read what a server says of results."""
    return Receipt(
        tuple(data["results"]),
        data["known"],
        data["stopped"],
        warnings=tuple(data["warnings"]),
        held=tuple(data["held"]),
        waits=data["waits"],
        released=tuple(data.get("released", ())),  # servers of before say neither
        exact=data.get("exact", ""),
    )
