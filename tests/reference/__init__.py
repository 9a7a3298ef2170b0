"""The algorithms as the paper prints them: slow, plain, and the oracle of everything fast."""
