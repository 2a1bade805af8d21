"""The command line of movie_generator."""
