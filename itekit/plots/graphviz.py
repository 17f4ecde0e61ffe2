"""Graphs drawn by Graphviz's `dot`, or shown as text where it is missing.

A graph is given in the language of Graphviz and, for where there is no `dot`, as plain text.
"""

import html
import re
import shutil
import subprocess

SECONDS = 20.0  # the longest wait for a drawing


def find_dot() -> str | None:
    """Path of the program `dot`, or None."""
    return shutil.which("dot")


def graph_svg(dot: str, alt: str = "") -> str | None:
    """The drawing as SVG, `alt` as its title; None if there is no `dot`, or it does not finish.

    Raises:
        ValueError: `dot` is not in the language of Graphviz; it says what the program said.
    """
    program = find_dot()
    if program is None:
        return None
    try:
        done = subprocess.run(
            [program, "-Tsvg"], input=dot, capture_output=True, text=True, timeout=SECONDS
        )
    except (subprocess.TimeoutExpired, OSError):
        return None
    if done.returncode:
        raise ValueError(f"dot: {done.stderr.strip()[:500]}")
    svg = re.sub(r"<!--.*?-->\s*|<title>.*?</title>\s*", "", done.stdout, flags=re.DOTALL)
    title = f"<title>{html.escape(alt)}</title>" if alt else ""
    return re.sub(r"(<svg\b[^>]*)>", rf'\1 role="img">{title}', svg[svg.index("<svg") :], count=1)


def show_graph(dot: str, text: str, alt: str) -> None:
    """Display a graph in a notebook as one output: a drawing if there is `dot`, and the text.

    Outside IPython the text is printed instead.
    """
    from IPython import get_ipython
    from IPython.display import display

    svg = graph_svg(dot, alt)
    if get_ipython() is None or svg is None:
        print(text)
        return
    display({"image/svg+xml": svg, "text/plain": text}, raw=True)
