"""The page: served live, or written as a static site."""
