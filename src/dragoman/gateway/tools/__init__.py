"""Tools that the gateway runs in place of a provider: the tools of MCP servers, web search, and fetching pages."""
