"""`dptransfer demo`: the main job on data that ships with scikit-learn."""


def demo() -> None:
    """Learn digits from a few labels."""
