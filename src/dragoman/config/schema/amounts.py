"""Numbers with the bounds that several sections share."""

from typing import Annotated

from msgspec import Meta

Positive = Annotated[int, Meta(ge=1)]
Amount = Annotated[float, Meta(ge=0)]
