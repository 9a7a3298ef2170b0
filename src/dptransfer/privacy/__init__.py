"""Where private values are perturbed, and what may then be said of them."""
