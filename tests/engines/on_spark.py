"""What tests of Spark share: a plan for tiny blocks, and what is done with a release."""

from shoal.engines.spark_run import How
from shoal.plan import Plan
from shoal.release.job import Job

PLAN = Plan(
    k=3,
    quasi_identifiers=["age", "income", "weight", "job", "day"],
    stratum=["region"],
    sensitive_attributes=["ill"],
    rest="drop",
)
QIS = [*PLAN.quasi_identifiers, "region"]
HOW = How(block_records=120, rounds=2)
N = 700


def rows_of(frame):
    """Return the published rows as a table in an order of their own."""
    table = frame.toArrow()
    return table.sort_by([(name, "ascending") for name in table.column_names])


def job_for(source, target, plan=PLAN, **more):
    return Job(plan, source, target, **more)
