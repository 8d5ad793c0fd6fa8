"""Requests that prove who sends them, if a fixed key in a header is not enough.

A provider's key goes into a header, and that is all (`HttpDestination.signed`). Clouds want more: a signature over each
request, or a token that lives for an hour. Each of these ways is a *scheme*:

- `authorizer.py` is the contract: `Authorizer`, and `FreshCredentials`, which fetches and renews beside the requests.
- `authorizers.py` lists the schemes by name and keeps one live authorizer for each.
- one module for each scheme, such as `aws.py`.

To add a scheme:

1. Write a function that fetches credentials and returns them with the time at which they expire (`Fetched`). It may
   block, for it runs in a thread. It raises `NoCredentials`, with what to do, if there are none.
2. Write an `Authorizer`: hand that function to `FreshCredentials`, and make headers of what it holds in `headers_for`.
   This must not wait: it runs for every request. A token is one line, `("authorization", f"Bearer {token}")`.
3. Put it into `SCHEMES` under a name, and write `cloud = { scheme = "NAME" }` into the profiles that need it. A key in
   the configuration still wins over the scheme. Settings of the user's stand in `cloud` of the provider
   (`config/schema/providers.py`) and reach you in the `AuthScheme`.

A token that expires under way costs one retry: the dispatch calls `refused`, and sends the same body again.
"""
