"""Doctests of an adapter whose library is too heavy for the development requirements are left out without it."""

import importlib.util

collect_ignore = [] if importlib.util.find_spec("botorch") else ["src/softbandit/integrations/botorch.py"]
