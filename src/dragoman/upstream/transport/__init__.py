"""A pooled HTTP/1.1 client over asyncio and httptools.

    async with Transport() as transport:
        answer = await transport.send(Outgoing("POST", url, headers, body), Timeouts(first_byte=60))
        async for piece in answer:
            ...

`docs/decisions/own-http-client.md` explains why Dragoman has its own client and what it leaves out.
"""
