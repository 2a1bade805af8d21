"""What all tests share, those of the packages too."""

pytest_plugins = ["tests.support.plugin"]
