"""Below everything: atomic files, a lock, strict JSON, tensors, trees of arrays, names from strangers."""
