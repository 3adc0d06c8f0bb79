"""Side-by-side measurements of tracejit against hand-written JAX and against MindSpore; `python -m benchmarks`."""
