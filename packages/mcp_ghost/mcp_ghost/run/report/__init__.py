"""What a run tells: while it goes on, and when it is over."""
