"""What a run has seen: inputs by outcome and by kind, and its findings."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from fuzz.case import Case

OUTCOMES = ("released", "refused", "skipped", "failed")


def kinds_of(case: Case) -> list[str]:
    """Return the kinds that an input belongs to, for the closing counts."""
    plan, way = case.plan, case.way
    form = f"dp {plan['dp']}" if "dp" in plan else f"form {plan.get('release', 'microaggregation')}"
    kinds = [f"frame {way['frame']}", form]
    if way["frame"] == "file":
        kinds += [f"in {way['input']}", f"out {way['output']}", *(["command line"] if way["cli"] else [])]
        kinds += ["in pieces"] if way.get("stream") else []
    kinds += [f"column {kind}" for kind in {column.kind for column in case.columns}]
    kinds += [f"written {column.notation}" for column in case.columns if column.notation]
    kinds += [] if "dp" in plan else [f"method {plan.get('method', 'none')}"]
    roles = ("unit", "stratum", "weight", "blocks", "shuffle", "refine", "missing", "missing_values", "representatives")
    types = ("outward", "thousands", "nominal", "ordinal", "continuous")
    recoding = ("suppress", "top_coding", "bottom_coding", "rounding")
    kinds += [f"with {field}" for field in (*roles, *types, *recoding) if field in plan]
    kinds += [f"model {name}" for name in ("l", "t", "k_map", "presence") if plan.get(name) is not None]
    own = plan.get("models", {})
    texts = [text for many in own.values() for text in ([many] if isinstance(many, str) else many)]
    kinds += [f"model {text.split()[0]}" for text in texts if text]
    return kinds


@dataclass
class Counts:
    """Inputs by outcome and by kind."""

    outcomes: Counter[str] = field(default_factory=Counter)
    inputs: Counter[str] = field(default_factory=Counter)
    released: Counter[str] = field(default_factory=Counter)
    findings: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def add(self, case: Case, outcome: str) -> None:
        """Count an input."""
        self.outcomes[outcome] += 1
        for kind in kinds_of(case):
            self.inputs[kind] += 1
            self.released[kind] += outcome == "released"

    def update(self, other: Counts) -> None:
        """Add the counts of another part of the run."""
        self.outcomes += other.outcomes
        self.inputs += other.inputs
        self.released += other.released
        self.findings += other.findings
        self.seconds += other.seconds

    @property
    def total(self) -> int:
        """Return the number of inputs."""
        return sum(self.outcomes.values())

    def line(self) -> str:
        """Return the counts in one line."""
        shares = ", ".join(f"{self.outcomes[o]:,} {o}" for o in OUTCOMES if self.outcomes[o])
        return f"{self.total:,} inputs: {shares or 'none'}; {sum(self.findings.values()):,} findings"

    def table(self) -> str:
        """Return the counts by kind, one group of kinds a line, each with the share that was released."""
        groups: dict[str, list[str]] = {}
        for kind in sorted(self.inputs):
            head, _, name = kind.partition(" ")
            share = 100 * self.released[kind] // self.inputs[kind]
            groups.setdefault(head, []).append(f"{name or head} {self.inputs[kind]:,} ({share} %)")
        return "\n".join(f"{head:8s} {', '.join(names)}" for head, names in groups.items())
