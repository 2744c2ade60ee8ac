"""The paper's algorithm, and the interface of every policy."""
