"""The paper's two data files: their contents, addresses and checksums."""

from dataclasses import dataclass
from pathlib import Path

_PUBLISHED = (
    "https://raw.githubusercontent.com/sayakrc/Bayesian-Optimization-under-Heavy-tailed-Payoffs/"
    "30196d5c9eca766ca87afec517be98cf76c961a5/"
)  # the code published with Chowdhury & Gopalan (2019), at one commit
_LICENCE = "published without a licence to redistribute it, so it is downloaded from its address and never shipped"


@dataclass(frozen=True)
class Known:
    """A data file, identified by its sha256."""

    name: str
    file: str
    sha256: str
    bytes: int
    address: str  # of the file itself
    page: str  # that describes it
    title: str
    about: str
    licence: str = _LICENCE

    def by_hand(self, folder: Path) -> str:
        """Return instructions for putting the file in a folder without this library."""
        return (
            "To place it by hand:\n"
            f"  download  {self.address}\n"
            f"  save as   {folder / self.file}\n"
            f"  sha256    {self.sha256}"
        )


KNOWN: dict[str, Known] = {
    known.name: known
    for known in (
        Known(
            name="sensors",
            file="iw_data_all.mat",
            sha256="3d87e03ae8bc9e3f0a4abeb57c64933c7d3dee7476ac5c4f6ca28b4efc357c15",
            bytes=286816,
            address=_PUBLISHED + "iw_data_all.mat",
            page="http://www.cs.cmu.edu/~guestrin/Class/10708-F08/projects/",
            title="CMU light sensors",
            about="601 train and 192 test readings of 41 light sensors, CMU Intelligent Workplace, November 2005",
        ),
        Known(
            name="stocks",
            file="fin.csv",
            sha256="e9f7d7c3a0ad4ada75e5b8fa3830c77ed0579232b45837438c671d83b1818199",
            bytes=333618,
            address=_PUBLISHED + "fin.csv",
            page="https://github.com/sayakrc/Bayesian-Optimization-under-Heavy-tailed-Payoffs",
            title="prices of 29 stocks",
            about="adjusted closing prices of 29 stocks on 823 days, 2016-01-04 to 2019-04-10",
        ),
    )
}
