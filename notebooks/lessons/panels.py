"""What all panels of controls share: an answer below the controls, and errors shown inside it."""

import html
from collections.abc import Callable, Sequence

import ipywidgets as widgets
import plotly.graph_objects as go

from itekit.logic.errors import FormulaError
from itekit.plots.style import mime_bundle


def error_html(error: Exception) -> str:
    """What is wrong, as a line for inside a panel; a caret below points at a wrong character."""
    kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
    picture = f"<pre>{html.escape(error.picture)}</pre>" if isinstance(error, FormulaError) else ""
    return f'<p role="alert"><b>✗</b> {html.escape(f"{kind}{error}")}</p>{picture}'


class Panel(widgets.VBox):
    """Controls above an answer and a picture; what goes wrong is shown as the answer."""

    def __init__(self, controls: Sequence[widgets.Widget]):
        self.answer, self.picture = widgets.HTML(), widgets.Output()
        super().__init__([*controls, self.answer, self.picture])

    def safely(self, work: Callable[[], str]) -> None:
        """Show the HTML that `work` returns, or the error that it raises."""
        try:
            self.answer.value = work()
        except Exception as error:  # a reader sees what is wrong, never a traceback
            self.answer.value = error_html(error)

    def draw(self, figure: go.Figure | None, alt: str = "") -> None:
        """Show a figure below the answer; None takes the last one away."""
        self.picture.outputs = ()
        if figure is not None:
            data, metadata = mime_bundle(figure, alt, static_picture=False)
            shown = {"output_type": "display_data", "data": data, "metadata": metadata}
            self.picture.outputs = (shown,)
