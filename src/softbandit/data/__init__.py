"""The data behind the paper's simulations: the original files, the folders that hold them, and their stand-ins.

Downloads are in `softbandit.data.download`, which is not imported here because it loads the network modules.
"""

from softbandit.data.loaders import Prices, Readings, load_prices, load_sensors
from softbandit.data.sources import KNOWN, SENSORS, STOCKS, Known, Origin, Source, identify
from softbandit.data.stand_ins import simulated_office, sp500_panel

__all__ = [
    "KNOWN",
    "SENSORS",
    "STOCKS",
    "Known",
    "Origin",
    "Prices",
    "Readings",
    "Source",
    "identify",
    "load_prices",
    "load_sensors",
    "simulated_office",
    "sp500_panel",
]
