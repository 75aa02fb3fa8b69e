"""What memory shows of the rows and groups of a release that was made in parts."""

from shoal.privacy.classes import classes_of
from shoal.release.preparation import prepare
from shoal.release.report.evidence import Measured, gather_evidence


def shown(evidence):
    return evidence.distributions, evidence.figures, evidence.correlations


def recomputed(table, release, published, *, k=3):
    """Return what memory shows of these rows and groups, found in the published table."""
    plan = release.plan.model_copy(update={"engine": None, "bound": None})
    before, after = (prepare(one, plan).reads for one in (table, published))
    names = release.quasi_identifiers
    measured = [
        Measured(old.attribute.name, old.attribute.kind, old.values, new.values)
        for old, new in zip(before, after, strict=True)
    ]
    return gather_evidence(measured, labels=classes_of(published, names), k=k, most=release.losses.most)
