"""The demo of `make demo`: eleven companies, published so that none can be told from two others."""

from __future__ import annotations

import csv
from pathlib import Path

import shoal
from shoal.datasets import companies
from shoal.measure import group_sizes

K = 3
TARGET = Path("demo-output") / "companies-k3.csv"


def main() -> None:
    """Show the table before and after, what was lost, and how the methods compare."""
    table = companies()
    keys = table.select("surface", "employees")
    shoaled = shoal.Microaggregator(k=K)
    published = shoaled.fit_transform(keys)

    print(f"Eleven companies. Anybody can estimate the size of their premises and staff: with k = {K}, each of them")
    print("shares these two figures with at least two others. Turnover stays as it is; names are not published.\n")
    print(f"{'company':<10}{'surface':>9}{'staff':>7}      {'surface':>9}{'staff':>7}{'turnover':>12}   group")
    names = table.row_names or ("",) * len(keys)
    for name, raw, new, rest, group in zip(names, keys, published, table.data, shoaled.labels_, strict=True):
        print(f"{name:<10}{raw[0]:>9.0f}{raw[1]:>7.0f}  ->  {new[0]:>9.1f}{new[1]:>7.1f}{rest[2]:>12,.0f}   {group}")

    sizes = group_sizes(shoaled.labels_)
    print(f"\n{sizes.groups} groups, the smallest of {sizes.smallest}; {100 * shoaled.information_loss_:.1f} % of the")
    print(f"variation of the two columns is lost ({shoaled.method_}, chosen by 'auto'). Other methods:\n")
    for name in ("mdav", "mdav*", "gsms", "cbfs-mhm", "mondrian-v2d"):
        other = shoal.Microaggregator(k=K, method=name).fit(keys)
        print(f"    {name:<14}{100 * other.information_loss_:5.1f} %")

    TARGET.parent.mkdir(exist_ok=True)
    with TARGET.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["surface", "employees", "turnover", "net_profit"])
        writer.writerows([*new, *rest[2:]] for new, rest in zip(published.tolist(), table.data.tolist(), strict=True))
    print(f"\nThe published table lies in {TARGET}.")


if __name__ == "__main__":
    main()
