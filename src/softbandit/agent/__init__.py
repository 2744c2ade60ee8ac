"""One live policy: ask, tell, forget, save, load.

`live.py` has the agent, `progress.py` the value that `tell` replaces, `record.py` the rounds told, `decision.py`
what `ask` returns, and `agent_file.py` the file.
"""

from softbandit.agent.decision import Decision
from softbandit.agent.live import AWAY, Agent, HorizonWarning, PolicyWarning
from softbandit.agent.posterior import Posterior

__all__ = ["AWAY", "Agent", "Decision", "HorizonWarning", "PolicyWarning", "Posterior"]
