"""Episodes in processes of their own, here or on the nodes of a Ray cluster."""
