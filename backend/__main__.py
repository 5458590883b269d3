"""python -m backend api | controller | migrate | create-user NAME | openapi"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from backend import commands


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m backend", description="Gradstream's control plane.")
    commands_ = parser.add_subparsers(required=True, metavar="COMMAND")

    api = commands_.add_parser("api", help="serve REST, streams and the web page")
    api.add_argument("--host", default="127.0.0.1")
    api.add_argument("--port", type=int, default=8000)
    api.set_defaults(run=lambda args: commands.api(args.host, args.port))

    controller = commands_.add_parser("controller", help="place jobs, watch attempts, store metrics; any number may run")
    controller.set_defaults(run=lambda _: commands.controller())

    migrate = commands_.add_parser("migrate", help="bring the database to this version's tables")
    migrate.add_argument("--create-user", metavar="NAME", help="then do what create-user does, without another start")
    migrate.add_argument(
        "--join-token-file", type=Path, metavar="FILE", help="then let machines join with the secret in it, for an hour"
    )
    migrate.add_argument("--join-uses", type=int, default=1, metavar="N", help="machines that may join with it; default: 1")
    migrate.set_defaults(run=_migrate)

    create_user = commands_.add_parser("create-user", help="make a user, or find one, and print a new API token as JSON")
    create_user.add_argument("name")
    create_user.add_argument("--token-name", default="command line")
    create_user.set_defaults(run=lambda args: commands.create_user(args.name, args.token_name))

    lock_out = commands_.add_parser(
        "lock-out", help="revoke all tokens of a user, which ends sessions; create-user lets the user in again"
    )
    lock_out.add_argument("name")
    lock_out.set_defaults(run=lambda args: commands.lock_out(args.name))

    openapi = commands_.add_parser("openapi", help="print the OpenAPI document; needs no database")
    openapi.set_defaults(run=lambda _: commands.openapi())

    args = parser.parse_args(argv)
    return int(args.run(args))


def _migrate(args: argparse.Namespace) -> int:
    code = commands.migrate(args.join_token_file, args.join_uses)
    return commands.create_user(args.create_user, "command line") if args.create_user and not code else code


if __name__ == "__main__":
    sys.exit(main())
