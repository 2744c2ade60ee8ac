"""Data: the files of the paper's simulations, the folders that hold them, their stand-ins, and measured systems.

Downloads are in `softbandit.data.download`, which is not imported here because it loads the network modules.
"""

from softbandit.data.configurations import SYSTEMS, Configurations, load_configurations
from softbandit.data.loaders import Prices, Readings, load_prices, load_sensors
from softbandit.data.sources import KNOWN, SENSORS, STOCKS, Known, Origin, Source, identify
from softbandit.data.stand_ins import simulated_office, sp500_panel

__all__ = [
    "KNOWN",
    "SENSORS",
    "STOCKS",
    "SYSTEMS",
    "Configurations",
    "Known",
    "Origin",
    "Prices",
    "Readings",
    "Source",
    "identify",
    "load_configurations",
    "load_prices",
    "load_sensors",
    "simulated_office",
    "sp500_panel",
]
