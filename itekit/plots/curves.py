"""Training curves: loss, AdaCos scale and learning rate over the steps of one or more runs.

Panels are stacked and share the step axis; a panel that no run has values for is left out.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from itekit.plots.style import COLOURS, DASHES, style

PANELS = (("loss", "loss"), ("scale", "AdaCos scale"), ("learning_rate", "learning rate"))
QUANTITIES = ("loss", "validation_loss", "scale", "learning_rate")
MOST_POINTS = 800  # a curve; more cannot be told apart on a screen


def series(name: str, records: Sequence[Mapping], quantity: str) -> tuple[list[int], list[float]]:
    """The steps and the values of `quantity`, from the records that have it, in order of step.

    Raises:
        ValueError: a record without a step, or with a value that is no number.
    """
    points = []
    for i, record in enumerate(records):
        if "step" not in record:
            raise ValueError(f"run {name!r}, record {i}: no 'step', found {sorted(record)}")
        value = record.get(quantity)
        if value is not None:
            try:
                points.append((int(record["step"]), float(value)))
            except (TypeError, ValueError):
                raise ValueError(
                    f"run {name!r}, record {i}: {quantity} is no number: {value!r}"
                ) from None
    points.sort(key=lambda point: point[0])
    return [step for step, _ in points], [value for _, value in points]


def thinned(values: list, most: int = MOST_POINTS) -> list:
    """At most about `most` of the values, evenly spaced, the last one kept."""
    stride = -(-len(values) // most)
    return values if stride <= 1 else values[:-1:stride] + values[-1:]


def _decades(losses: list[float]) -> int | None:
    """A tick a decade for losses over at least two of them; None leaves the ticks to plotly."""
    positive = [value for value in losses if 0 < value < float("inf")]
    return 1 if positive and max(positive) >= 100 * min(positive) else None


def _curve(
    steps: list, values: list, run: int, name: str, quantity: str, legend: bool
) -> go.Scatter:
    steps, values = thinned(steps), thinned(values)
    colour = COLOURS[run % len(COLOURS)]
    validation = quantity == "validation_loss"
    return go.Scatter(
        x=steps,
        y=np.asarray(values, np.float32),
        name=f"{name}, validation" if validation else name,
        legendgroup=name,
        showlegend=legend,
        mode="markers" if validation else "lines",
        line={"color": colour, "width": 2, "dash": DASHES[run % len(DASHES)]},
        marker={"color": colour, "size": 8, "symbol": "circle-open", "line": {"width": 2}},
        hovertemplate=f"step %{{x}}: {quantity.replace('_', ' ')} %{{y:.4g}}",
    )


def training_curves(runs: Mapping[str, Sequence[Mapping]], *, title: str = "") -> go.Figure:
    """Curves of one or more runs: {"run name": records}.

    A record is a mapping with "step" and any of "loss" (drawn on a logarithmic axis),
    "validation_loss" (points in the same panel), "scale" (AdaCos), "learning_rate"; other keys are
    passed over. A curve with more than 800 points is thinned evenly.

    Raises:
        ValueError: no runs, a run without a loss, a record without a step.
    """
    if not runs:
        raise ValueError("runs: expected at least one, found none")
    found = {
        (name, quantity): series(name, records, quantity)
        for name, records in runs.items()
        for quantity in QUANTITIES
    }
    for name, records in runs.items():
        if not found[name, "loss"][0] and not found[name, "validation_loss"][0]:
            raise ValueError(f"run {name!r}: none of its {len(records)} records has a 'loss'")
    panels = [(quantity, label) for quantity, label in PANELS if _present(found, quantity)]
    figure = make_subplots(
        len(panels),
        1,
        shared_xaxes=True,
        vertical_spacing=0.06,
        row_heights=[2.2] + [1.0] * (len(panels) - 1),
    )
    for row, (quantity, label) in enumerate(panels, start=1):
        for run, name in enumerate(runs):
            _add(figure, row, run, name, found, quantity)
        figure.update_yaxes(title_text=label, exponentformat="power", row=row)
    losses = [value for key in found if "loss" in key[1] for value in found[key][1]]
    figure.update_yaxes(type="log", dtick=_decades(losses), row=1)
    figure.update_xaxes(title_text="step", row=len(panels))
    return _finish(figure, title, len(panels))


def _present(found: Mapping, quantity: str) -> bool:
    """Whether a panel is drawn: the loss always, others when a run has values for them."""
    return quantity == "loss" or any(steps for key, (steps, _) in found.items() if quantity in key)


def _add(figure: go.Figure, row: int, run: int, name: str, found: Mapping, quantity: str) -> None:
    """Add a run's curve to a panel, and its validation points to the panel of the loss."""
    for one in (quantity, "validation_loss") if quantity == "loss" else (quantity,):
        steps, values = found[name, one]
        if steps:
            curve = _curve(steps, values, run, name, one, legend="loss" in one)
            figure.add_trace(curve, row, 1)


def _finish(figure: go.Figure, title: str, panels: int) -> go.Figure:
    """Put the legend below, in rows of about two names, and make room for it."""
    legend_rows = -(-sum(trace.showlegend for trace in figure.data) // 2)
    legend = {"orientation": "h", "x": 0, "yref": "container", "y": 0, "yanchor": "bottom"}
    figure.update_layout(hovermode="x unified", legend=legend)
    style(figure, title=title, width=760, height=190 + 130 * panels + 22 * legend_rows)
    return figure.update_layout(margin_b=60 + 22 * legend_rows)
