"""``psips serve``: pages and a JSON interface for the people and programs of a study."""

from __future__ import annotations

from typing import Annotated

import typer

from psips.cli.reading import DEFAULT, checked_store
from psips.cli.screen import HELP, examples, progress_line, show
from psips.cli.study_options import Json, StoreUrl

serve = typer.Typer(
    help="Serve studies to browsers, and to programs as JSON.",
    epilog=examples(
        "psips serve --create",
        "psips serve --store postgresql://lab@db/trials --port 8765",
        "psips serve token add ann --role recorder",
    ),
    invoke_without_command=True,
    context_settings=HELP,
    rich_markup_mode=None,
)
token = typer.Typer(
    help="Tokens: who may read, record and close.",
    no_args_is_help=True,
    epilog=examples("psips serve token add ann --role recorder", "psips serve token list"),
    context_settings=HELP,
    rich_markup_mode=None,
)
serve.add_typer(token, name="token")


@serve.callback(epilog=serve.info.epilog)
def run(
    context: typer.Context,
    store: StoreUrl = DEFAULT,
    host: Annotated[
        str,
        typer.Option(
            help="Address to listen on. Other addresses than this machine's need tokens."
        ),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 8765,
    behind_proxy: Annotated[
        bool,
        typer.Option(
            "--behind-proxy",
            help="Trust what a proxy on this machine says about the client and TLS.",
        ),
    ] = False,
    proxy: Annotated[
        list[str] | None,
        typer.Option(
            help="Address or network of a proxy to trust instead; can be repeated.",
            metavar="ADDRESS",
        ),
    ] = None,
    api_docs: Annotated[
        str,
        typer.Option(
            help="Who may read the description of the JSON interface: open (everyone), "
            "token (who has one), off."
        ),
    ] = "open",
    create: Annotated[
        bool, typer.Option("--create", help="Create the store if there is none yet.")
    ] = False,
) -> None:
    """Serve studies to browsers, and to programs as JSON. Ctrl-C ends it."""
    if context.invoked_subcommand is not None:
        return
    from psips.errors import InputError

    try:
        with progress_line("loading"):
            from psips.web.server import serve as start
    except ImportError as error:
        raise InputError(
            f"the package {error.name!r}, which serves pages, is missing: "
            "pip install 'psips[web]' (in a copy of the source: pip install '.[web]')"
        ) from None
    proxies = proxy or (["127.0.0.1", "::1"] if behind_proxy else [])
    start(checked_store(store), host, port, typer.echo, proxies, api_docs, create)


@token.command(epilog=examples("psips serve token add ann --role recorder --days 30"))
def add(
    name: Annotated[str, typer.Argument(help="Who gets the token; the log names them.")],
    role: Annotated[
        str,
        typer.Option(
            help="viewer: reads; recorder: also asks and tells; owner: also makes, closes."
        ),
    ],
    days: Annotated[int, typer.Option(help="Days until it expires.")] = 90,
    store: StoreUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Create a token, and print it. It is shown once: only its hash is kept."""
    from psips.store import open_store
    from psips.store.tokens import Tokens

    with open_store(checked_store(store)) as opened:
        secret = Tokens(opened).add(name, role, days)
    show({"name": name, "role": role, "token": secret}, secret, as_json)


@token.command("list", epilog=examples("psips serve token list --json"))
def list_tokens(store: StoreUrl = DEFAULT, as_json: Json = False) -> None:
    """List the tokens: name, role, state, and when they expire."""
    from datetime import UTC, datetime

    from psips.input.escaping import one_line
    from psips.store import open_store
    from psips.store.tokens import Tokens

    with open_store(checked_store(store)) as opened:
        every = Tokens(opened).every()
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    rows = [
        {"name": t.name, "role": t.role, "state": t.state(at), "expires": t.expires}
        for t in every
    ]
    lines = [
        f"{row['role']:<8}  {row['state']:<7}  {row['expires'][:10]}  {one_line(row['name'])}"
        for row in rows
    ]
    show({"tokens": rows}, "\n".join(lines) or "there are no tokens", as_json)


@token.command(epilog=examples("psips serve token revoke ann"))
def revoke(
    name: Annotated[str, typer.Argument(help="Whose token.")],
    store: StoreUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Revoke the token of a name, and end its sessions."""
    from psips.store import open_store
    from psips.store.tokens import Tokens

    with open_store(checked_store(store)) as opened:
        Tokens(opened).revoke(name)
    show({"revoked": name}, f"revoked the token of {name!r}", as_json)
