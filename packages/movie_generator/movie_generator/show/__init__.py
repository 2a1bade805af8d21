"""A script beside its page, for whoever checks it before it is recorded."""
