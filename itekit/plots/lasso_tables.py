"""Tables of a lasso: formulas as rows, times as columns, each cell says whether it holds there.

Paper, appendix "Temporal logic overview". What is written above each time is plain text, as in
`lassos`.
"""

import html
from collections.abc import Sequence

import plotly.graph_objects as go

from itekit.plots.lassos import BAND, LETTER, check_times
from itekit.plots.style import COLOURS, style

CELL = 46  # pixels from one row to the next

# Sign, fill, colour of the sign. Signs differ, not colours alone.
LOOKS = {
    "holds": ("✓", COLOURS[0], "white"),
    "fails": ("✗", COLOURS[1], "white"),
    "depends on the word": ("?", "#D9D9D9", "#222222"),
}


def lasso_table(
    prefix: Sequence[str],
    cycle: Sequence[str],
    rows: Sequence[tuple[str, Sequence[str | bool]]],
    *,
    title: str = "",
) -> go.Figure:
    """Formulas as rows, times as columns; each cell says whether the formula holds at that time.

    Args:
        prefix, cycle: what is written above each time.
        rows: each formula and its status at each time: "holds" or True, "fails" or False, or
            "depends on the word". The first row is on top.

    Raises:
        ValueError: an empty cycle, more than 60 times, no rows, a row of another length, or an
            unknown status.
    """
    check_times(prefix, cycle)
    steps = [*prefix, *cycle]
    cells = _cells(rows, len(steps))
    figure = go.Figure()
    for status in (name for name in LOOKS if name in cells.values()):
        sign, fill, colour = LOOKS[status]
        x, y = zip(*(place for place, found in cells.items() if found == status), strict=True)
        figure.add_scatter(
            x=x,
            y=y,
            name=status,
            text=[sign] * len(x),
            mode="markers+text",
            textfont={"color": colour, "size": 16},
            marker={"symbol": "square", "size": 0.72 * CELL, "color": fill, "line": {"width": 0}},
            hovertext=[
                f"{html.escape(rows[j][0])}: {status} at time {i}"
                for i, j in zip(x, y, strict=True)
            ],
            hoverinfo="text",
            cliponaxis=False,
        )
    return _finish_table(figure, steps, len(prefix), [label for label, _ in rows], title)


def _cells(rows: Sequence, times: int) -> dict[tuple[int, int], str]:
    """(time, row) -> status."""
    if not rows:
        raise ValueError("rows: expected at least one formula, found none")
    cells = {}
    for j, (label, found) in enumerate(rows):
        if len(found) != times:
            raise ValueError(f"row {label!r}: expected {times} statuses, found {len(found)}")
        for i, status in enumerate(found):
            if not isinstance(status, str):
                status = "holds" if status else "fails"
            if status not in LOOKS:
                known = ", ".join(map(repr, LOOKS))
                raise ValueError(f"row {label!r}, time {i}: {status!r} is none of {known}")
            cells[i, j] = status
    return cells


def _finish_table(
    figure: go.Figure, steps: Sequence[str], start: int, labels: Sequence[str], title: str
) -> go.Figure:
    times, rows = len(steps), len(labels)
    column = max(CELL, max(map(len, steps)) * LETTER + 14)
    shown = max(times, 340 / column)  # room for the legend
    left, top = max(map(len, labels)) * LETTER + 24, 100 if title else 56
    figure.add_vrect(x0=start - 0.5, x1=times - 0.5, fillcolor=BAND, line_width=0, layer="below")
    note = {"text": "↻ for ever", "showarrow": False, "xanchor": "left", "yanchor": "top"}
    figure.add_annotation(x=start - 0.48, y=rows - 0.5, **note)
    ticks = [f"{html.escape(step)}<br><b>{time}</b>" for time, step in enumerate(steps)]
    columns = {"tickvals": list(range(times)), "ticktext": ticks, "side": "top"}
    figure.update_xaxes(**columns, range=[-0.5, shown - 0.5])
    figure.update_yaxes(
        tickvals=list(range(rows)),
        ticktext=[html.escape(label) for label in labels],
        range=[rows + 0.05, -0.5],
    )
    plain = {"showgrid": False, "showline": False, "ticks": "", "automargin": False}
    figure.update_xaxes(**plain)
    figure.update_yaxes(**plain)
    height = round(CELL * (rows + 0.55)) + top + 40
    style(figure, title=title, width=round(left + column * shown) + 20, height=height)
    legend = {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"}
    margin = {"l": left, "r": 20, "t": top, "b": 40}
    legend["itemsizing"] = "constant"
    return figure.update_layout(margin=margin, showlegend=True, legend=legend)
