"""The description of what is tuned, in the user's words and units: parameters, metric, limits."""
