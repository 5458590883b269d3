"""The parameters of a model, as `gradstream show --parameters` prints them."""

from __future__ import annotations

from gradstream.api.model.parameters import JobParameters


def print_parameters(found: JobParameters) -> None:
    from gradstream.cli.terminal.output import Column, number, print_table, talk

    table = found.table
    if table is None:
        talk("No parameters are recorded. Worker 0 stores them when its first attempt begins to train.")
        return
    print_table(
        (Column("parameter", wraps=True), "shape", ">count", ">share", "dtype", "device", "trained", ">norm"),
        [
            (
                each.name,
                " x ".join(map(str, each.shape)) or "scalar",
                f"{each.count:,}",
                f"{each.count / max(1, table.total):.1%}",
                each.dtype,
                each.device,
                "yes" if each.requires_grad else "frozen",
                "not finite" if each.norm is None else number(each.norm),
            )
            for each in table.parameters
        ],
    )
    more = f" {table.left_out:,} more are not listed." if table.left_out else ""
    talk(
        f"{table.total:,} elements, {table.trained:,} of them trained.{more} Norms: worker 0 of attempt {found.attempt} after "
        f"{table.step:,} mini-batches, from version {table.base:,}."
    )
