"""`dragoman.asgi:app` for any ASGI server; the configuration is the file that `DRAGOMAN_CONFIG` names, if any."""

from __future__ import annotations

import os

from dragoman.extras import naming_extra

with naming_extra("gateway"):
    from dragoman.gateway.app import Gateway, create_app

__all__ = ["app", "create_app"]

app: Gateway = create_app(os.environ.get("DRAGOMAN_CONFIG"))
