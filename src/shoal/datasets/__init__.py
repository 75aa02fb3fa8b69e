"""Example data: generators of synthetic tables, and the benchmark tables of the literature.

The generators, :func:`survey`, :func:`microdata` and :func:`companies` need nothing but NumPy. :func:`load` reads
benchmark tables that are not part of the package from a folder, or, if asked to, from their public source, and
:func:`arx_adult` the table that ARX comes with, and its hierarchies.

To add a table, write a generator with a seed, or describe its public source in `_sources`.
"""

from __future__ import annotations

from shoal.datasets.arx import WithHierarchies, arx_adult
from shoal.datasets.generators import collection, correlated_gaussian, sim_c, sim_u, skewed
from shoal.datasets.loaders import load, names
from shoal.datasets.microdata import CODES, microdata
from shoal.datasets.survey import EDUCATION, survey
from shoal.datasets.tables import Table, companies

__all__ = [
    "CODES",
    "EDUCATION",
    "Table",
    "WithHierarchies",
    "arx_adult",
    "collection",
    "companies",
    "correlated_gaussian",
    "load",
    "microdata",
    "names",
    "sim_c",
    "sim_u",
    "skewed",
    "survey",
]
