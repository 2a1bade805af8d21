"""The map as a fold over what was walked: ways, routes, targets and drawings."""
