"""The benchmark tables: their columns, their fingerprints, and how to read them from text.

One check serves every table, wherever it comes from: the SHA-256 of the *values* of the columns that the literature
uses (float64, little-endian, row by row). It is the same for a local file with more columns, for a download in another
format, and for another compression. As nothing else is accepted, parsers need not recognise text that does not belong
to the table.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ARX_ADULT",
    "DATASETS",
    "Dataset",
    "TextDataset",
    "WrongContentError",
    "by_header",
    "by_position",
    "content_hash",
    "text_hash",
    "verified",
]

Floats = NDArray[np.float64]


class WrongContentError(Exception):
    """The text is not the expected table. The message completes a sentence that begins with 'Got'."""


class Dataset(NamedTuple):
    """A benchmark table.

    Attributes
    ----------
    title : str
        A description in one line.
    file : str
        The name of its file in a data folder: gzip-compressed CSV with a header line.
    n : int
        The number of records.
    columns : tuple of str, length d
        The columns that the literature uses.
    sha256 : str
        The :func:`content_hash` of those columns.
    urls : tuple of str
        The public files that hold the records, in order.
    parse : callable
        ``parse(texts, columns)`` makes the (n, d) array of the texts behind `urls`.
    licence : str
        Terms of use.
    """

    title: str
    file: str
    n: int
    columns: tuple[str, ...]
    sha256: str
    urls: tuple[str, ...]
    parse: Callable[[Sequence[str], tuple[str, ...]], Floats]
    licence: str = "not stated at the source"


class TextDataset(NamedTuple):
    """A table of texts with hierarchies, as files of lines.

    Attributes
    ----------
    title : str
        A description in one line.
    folder, file : str
        Where the files lie in a data folder, and the name of the table there: gzip-compressed CSV with commas.
    n : int
        The number of records.
    columns : tuple of str
        The columns of the table.
    sha256 : str
        The :func:`text_hash` of the table.
    url : str
        The public file of the table, with semicolons between the fields; hierarchies lie beside it.
    hierarchies : {column: (file, SHA-256)}
        The hierarchies of columns, and the :func:`text_hash` of each.
    licence : str
        Terms of use.
    """

    title: str
    folder: str
    file: str
    n: int
    columns: tuple[str, ...]
    sha256: str
    url: str
    hierarchies: Mapping[str, tuple[str, str]]
    licence: str


def text_hash(text: str) -> str:
    """Return the SHA-256 of the lines of a text; how they end does not matter."""
    return hashlib.sha256("\n".join(text.splitlines()).encode()).hexdigest()


def content_hash(data: Floats) -> str:
    """Return the SHA-256 of the values of `data`, shape (n, d), row by row as little-endian float64."""
    return hashlib.sha256(np.ascontiguousarray(data, dtype="<f8").tobytes()).hexdigest()


def verified(data: Floats, dataset: Dataset) -> Floats:
    """Return `data` if it equals the table of `dataset` bit by bit, else raise WrongContentError."""
    shape = (dataset.n, len(dataset.columns))
    if data.shape != shape:
        raise WrongContentError(f"{data.shape[0]} records that can be read, not {dataset.n}")
    if content_hash(data) != dataset.sha256:
        raise WrongContentError("values with another SHA-256")
    return data


def by_header(texts: Sequence[str], columns: tuple[str, ...]) -> Floats:
    """Read the named columns of one CSV text with a header line, shape (n, d)."""
    # splitlines also splits at bare carriage returns, which end the lines of some public files.
    rows = csv.reader(texts[0].splitlines())
    header = [name.strip() for name in next(rows, [])]
    for column in columns:
        if column not in header:
            raise WrongContentError(f"no column {column!r}")
    positions = [header.index(column) for column in columns]
    try:
        return _numbers([[row[i] for i in positions] for row in rows if row], len(columns))
    except (IndexError, csv.Error):
        raise WrongContentError("a line that is not CSV") from None


def by_position(
    texts: Sequence[str],
    columns: tuple[str, ...],
    *,
    positions: tuple[int, ...],
    width: int,
    separator: str | None = ",",
) -> Floats:
    """Read the fields at `positions` of all lines with `width` fields, shape (n, d).

    Lines that are not records (comments, headers, blank lines) have another number of fields, or no numbers
    at `positions`, and are skipped. That is safe only because :func:`verified` follows.
    """
    rows = []
    for text in texts:
        for line in text.splitlines():
            fields = line.split(separator)
            if len(fields) == width:
                wanted = [fields[i].strip() for i in positions]
                if all(map(_is_number, wanted)):
                    rows.append(wanted)
    return _numbers(rows, len(columns))


def _cloud(texts: Sequence[str], columns: tuple[str, ...], *, second: bool) -> Floats:
    """Read one of the two tables that share the Cloud file, with a marker between them."""
    before, marker, after = texts[0].partition("CLOUD COVER DB #2")
    if not marker:
        raise WrongContentError("no marker between the two Cloud tables")
    every = tuple(range(len(columns)))
    return by_position([after if second else before], columns, positions=every, width=len(columns), separator=None)


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _numbers(rows: list[list[str]], d: int) -> Floats:
    try:
        return np.array(rows, dtype=np.float64).reshape(len(rows), d)
    except ValueError:
        # NumPy's message would quote the field.
        raise WrongContentError("a field that is not a number") from None


def _raw(repository: str, commit: str, path: str) -> str:
    return f"https://raw.githubusercontent.com/{repository}/{commit}/{path}"


_SDC = ("francasino/SDC_datasets", "b988a009692cc26b71f789550c63869b85a83b5a")
_CLOUD_URLS = (_raw("Smendoza37/Cloud", "4316fbe", "cloudData.csv"),)
_UCI_LICENCE = "CC BY 4.0, according to the UCI Machine Learning Repository"
_CLOUD_COLUMNS = tuple(f"x{i}" for i in range(1, 11))

# fmt: off
_CENSUS_COLUMNS = (
    "AFNLWGT", "AGI", "EMCONTRB", "FEDTAX", "PTOTVAL", "STATETAX", "TAXINC", "POTHVAL", "INTVAL", "PEARNVAL",
    "FICA", "WSALVAL", "ERNVAL",
)
_TARRAGONA_COLUMNS = (
    "FIXED.ASSETS", "CURRENT.ASSETS", "TREASURY", "UNCOMMITTED.FUNDS", "PAID.UP.CAPITAL", "SHORT.TERM.DEBT",
    "SALES", "LABOR.COSTS", "DEPRECIATION", "OPERATING.PROFIT", "FINANCIAL.OUTCOME", "GROSS.PROFIT",
    "NET.PROFIT",
)
_EIA_COLUMNS = (
    "UTILITYID", "RESREVENUE", "RESSALES", "COMREVENUE", "COMSALES", "INDREVENUE", "INDSALES", "OTHREVENUE",
    "OTHRSALES", "TOTREVENUE", "TOTSALES",
)
_CREDITCARD_COLUMNS = (
    "LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE", "PAY_0", "PAY_2", "PAY_3", "PAY_4", "PAY_5", "PAY_6",
    "BILL_AMT1", "BILL_AMT2", "BILL_AMT3", "BILL_AMT4", "BILL_AMT5", "BILL_AMT6", "PAY_AMT1", "PAY_AMT2",
    "PAY_AMT3", "PAY_AMT4", "PAY_AMT5", "PAY_AMT6", "default.payment.next.month",
)
_COVTYPE_COLUMNS = (
    "Elevation", "Aspect", "Slope", "Horizontal_Distance_To_Hydrology", "Vertical_Distance_To_Hydrology",
    "Horizontal_Distance_To_Roadways", "Hillshade_9am", "Hillshade_Noon", "Hillshade_3pm",
    "Horizontal_Distance_To_Fire_Points",
)
# fmt: on

DATASETS: dict[str, Dataset] = {
    "census": Dataset(
        title="CASC reference microdata 'Census' (U.S. Census Bureau, 1995)",
        file="census.csv.gz",
        n=1080,
        columns=_CENSUS_COLUMNS,
        sha256="8cd4a46073869132d5e299ccd59258188ea64499b850d74a40565286927c9c51",
        urls=(_raw(*_SDC, "CASCrefmicrodata.csv"),),
        parse=by_header,
    ),
    "tarragona": Dataset(
        title="CASC reference microdata 'Tarragona' (companies of Tarragona, 1995)",
        file="tarragona.csv.gz",
        n=834,
        columns=_TARRAGONA_COLUMNS,
        sha256="98c5774f42a775ba02182977623296c6caf5679b31414ad287b9097f2513e82f",
        urls=(_raw(*_SDC, "tarragona.csv"),),
        parse=by_header,
    ),
    "eia": Dataset(
        title="CASC reference microdata 'EIA' (U.S. Energy Information Authority), columns 1 and 6 to 15",
        file="eia.csv.gz",
        n=4092,
        columns=_EIA_COLUMNS,
        sha256="873e36dcb933b5e4ca063f7225b68d45e239621a0b61fcdbfa1509a53419f5d7",
        urls=(_raw(*_SDC, "EIA.csv"),),
        parse=by_header,
    ),
    "cloud1": Dataset(
        title="UCI 'Cloud' (AVHRR images), database 1",
        file="cloud1.csv.gz",
        n=1024,
        columns=_CLOUD_COLUMNS,
        sha256="321bd691d53d9c93d99654a25c1590ce60428e66acf554ce1a8d02682911d4ef",
        urls=_CLOUD_URLS,
        parse=partial(_cloud, second=False),
        licence=_UCI_LICENCE,
    ),
    "cloud2": Dataset(
        title="UCI 'Cloud' (AVHRR images), database 2",
        file="cloud2.csv.gz",
        n=1024,
        columns=_CLOUD_COLUMNS,
        sha256="4229f4635e24100a9890d6bbc8206ce1e38b761be3959c5d442230065dfe0707",
        urls=_CLOUD_URLS,
        parse=partial(_cloud, second=True),
        licence=_UCI_LICENCE,
    ),
    "adult": Dataset(
        title="UCI 'Adult', adult.data followed by adult.test: age, education-num, hours-per-week",
        file="adult.csv.gz",
        n=48842,
        columns=("age", "education-num", "hours-per-week"),
        sha256="d3520ba2485d8279af9d7680e107c57e9cd1fc44b1b19af0f1622add1298bf6e",
        urls=(
            _raw("qiyuangong/Mondrian", "49d49cf", "data/adult.data"),
            _raw("uknowwho/pafer", "2156a51", "adult.test"),
        ),
        parse=partial(by_position, positions=(0, 4, 12), width=15),
        licence=_UCI_LICENCE,
    ),
    "creditcard": Dataset(
        title="UCI 'Default of credit card clients', all columns but ID",
        file="creditcard.csv.gz",
        n=30000,
        columns=_CREDITCARD_COLUMNS,
        sha256="9c3c9ae60f343b5fba1102e0f539176c277cfd1065702542e5890fd4cf9f2f79",
        urls=(_raw("nbgraham/SL-Loan-Default", "444f8d1", "UCI_Credit_Card.csv"),),
        parse=by_header,
        licence=_UCI_LICENCE,
    ),
    "covtype": Dataset(
        title="UCI 'Covertype', a sample of 20000 of 581012 records, the 10 quantitative columns",
        file="covtype_sample20000.csv.gz",
        n=20000,
        columns=_COVTYPE_COLUMNS,
        sha256="52143861ccd794643bdedc3ab0a90a50f484245c0a540611fde1464f3e118761",
        urls=(_raw("masonblier/fluxml-covtype", "b5d4c6e0e19bfb1e54ccb9ff8e439691e12eaecf", "covtype-min.data"),),
        parse=partial(by_position, positions=tuple(range(10)), width=55),
        licence=_UCI_LICENCE,
    ),
}

ARX_ADULT = TextDataset(
    title="ARX 'adult': the 30162 complete records of UCI adult.data, nine columns, with hierarchies",
    folder="hierarchies/arx_adult",
    file="arx_adult.csv.gz",
    n=30162,
    columns=(
        *("sex", "age", "race", "marital-status", "education"),
        *("native-country", "workclass", "occupation", "salary-class"),
    ),
    sha256="bebcf81a3a36889491fad164c37277537d4d3a3cce409ee4127071cbeee7a137",
    url=_raw("arx-deidentifier/arx", "aacd487", "data/adult.csv"),
    hierarchies={
        name: (f"adult_hierarchy_{name}.csv", sha256)
        for name, sha256 in (
            ("sex", "5a9b62883f9a7f2eafd05521bf8fc02061ea0057c912cacf1c56273f6825724d"),
            ("age", "d3e9b9674ec288b84216542d225fc5fa612a7a58382264bad12478e7925364b9"),
            ("race", "0874d9045f3fbf44b600fd71c37c3b4a0ed4f1ffb54c066bec2e2c8dcacaad44"),
            ("marital-status", "28ba6d840d1e8b0f626a5a9d3a325d2bfa977199650839179d275246f6f71bd7"),
            ("education", "2a57086787d9f7c22393ce2e4bbf7dabacf5c585d2d6c75e96c071e4e4cc4566"),
            ("native-country", "696d3b53973311c096b33f98bb56e526016910b1a1cd5a1e904cb799d1077023"),
            ("workclass", "5ea45c8b22ac675a9c247f8b18d0ad2a3ede8fff5d3d958262c69408920d35c8"),
            ("occupation", "3743da2f6f5bae2d597f10407a26b76d0d4e0b5efa28c76aac10f186df7a7610"),
            ("salary-class", "cb6163c5dc6f3a5288c7a8f57ee3f84fc5614f2fd54b3868a765557c8e75ab48"),
        )
    },
    licence="Apache-2.0, according to the repository of ARX",
)
