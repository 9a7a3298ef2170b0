"""Pure functions on arrays: kernel, k-means, principal subspace."""
