"""Where tools come from: servers, functions, records, and several of them as one toolset."""
