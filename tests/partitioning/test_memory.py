"""How much memory is free: what the machine or the container still has."""

import pytest

from shoal.partitioning import memory


@pytest.fixture
def container(tmp_path, monkeypatch):
    """Return what writes the files that tell of a container, and no others."""
    names = ("limit", "usage", "stat")
    monkeypatch.setattr(memory, "_CGROUPS", [tuple(str(tmp_path / name) for name in names)])

    def told(*contents):
        for name, content in zip(names, contents, strict=True):
            (tmp_path / name).write_text(content)

    return told


def test_a_container_has_less_than_the_machine(container):
    machine = memory.available()
    container(str(64 * 2**20), str(30 * 2**20), "anon 5\n")
    assert memory.available() == 34 * 2**20
    container("max\n", str(30 * 2**20), "anon 5\n")
    assert memory.available() > min(machine, 2**30) / 2


def test_pages_of_files_can_be_had(container):
    """Whoever reads a large file fills the container with its pages."""
    container(str(64 * 2**20), str(63 * 2**20), f"anon 5\nactive_file 7\ninactive_file {40 * 2**20}\n")
    assert memory.available() == 41 * 2**20
