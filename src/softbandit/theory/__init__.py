"""The paper's quantities as numbers: widths of confidence bounds, Slater's condition."""
