"""What the format of an output cannot hold is told to whoever started the job."""

import pyarrow as pa
import pytest

from shoal import io
from shoal.plan import Plan
from shoal.release import pipeline
from shoal.release.hooks import Hooks
from shoal.release.job import Job


class Notes(Hooks):
    def __init__(self):
        self.told = []

    def on_written(self, release):
        self.told.append("written")

    def on_note(self, words):
        self.told.append(words)


@pytest.mark.parametrize(("name", "notes"), [("out.sqlite", 1), ("out.parquet", 0)])
def test_notes_are_told_after_the_release_is_written(tmp_path, name, notes):
    table = pa.table({"age": [float(i // 3) for i in range(12)], "score": [float("nan"), *map(float, range(11))]})
    io.write(table, tmp_path / "people.parquet")
    plan = Plan.of(k=3, quasi_identifiers="age", other="score", method="mdav")
    told = Notes()
    release = pipeline.run(Job(plan, tmp_path / "people.parquet", tmp_path / name), told)
    assert told.told == ["written", *release.written.notes]
    assert len(release.written.notes) == notes
    assert all("'score': NaN became NULL" in words for words in release.written.notes)
