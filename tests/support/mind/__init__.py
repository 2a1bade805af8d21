"""What the tests of the managers share."""
