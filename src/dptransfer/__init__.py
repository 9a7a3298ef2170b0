"""Learn from private labelled data that you may not see."""

__version__ = "0.1.0.dev0"
