"""The joint model of reward and costs that policies consult: posteriors, widths, explorations."""
