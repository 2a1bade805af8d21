"""The map as it is drawn: levels, positions, and what of them a page or a picture needs."""
