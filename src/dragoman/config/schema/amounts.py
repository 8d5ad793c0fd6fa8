"""Numbers with the bounds that several sections share."""

from typing import Annotated

from msgspec import Meta

from dragoman.engine.history.trim_policy import MOST_TOKENS

Positive = Annotated[int, Meta(ge=1)]
TokenLimit = Annotated[int, Meta(ge=1, le=MOST_TOKENS)]
Amount = Annotated[float, Meta(ge=0)]
