"""The paper's algorithm, and the interface of every policy."""

from softbandit.policies.autopilot import Autopilot
from softbandit.policies.base import (
    MOST_CONSTRAINTS,
    About,
    AcquisitionPolicy,
    Choice,
    Policy,
    Stage,
    State,
    StepPolicy,
    Steps,
)
from softbandit.policies.ckb import CKB
from softbandit.policies.doubling import Doubling
from softbandit.policies.dual import checked_slack, dual_cap, inverse_step, slater_margin
from softbandit.policies.practical import Practical
