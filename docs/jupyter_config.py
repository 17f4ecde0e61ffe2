"""Jupyter's settings here: notebooks are stored without what changes from reader to reader.

`make setup` gives them to Jupyter's server, `make refresh` to nbconvert.
"""

from nbconvert.preprocessors import CoalesceStreamsPreprocessor

from itekit.notebooks import NO_PANEL, PANEL

KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
METADATA = {"kernelspec": KERNEL, "language_info": {"name": "python"}}


def tidy(notebook, resources):
    """A preprocessor of nbconvert: take out times, versions and panels, which need a kernel.

    What a cell prints becomes one output, wherever the kernel happened to flush it. Numbers are
    written as JupyterLab does, so that a reader who opens and saves a notebook changes nothing.
    """
    notebook, resources = CoalesceStreamsPreprocessor().preprocess(notebook, resources)
    notebook.metadata = type(notebook)(METADATA)
    for cell in notebook.cells:
        for key in ("execution", "papermill", "ExecuteTime"):
            cell.metadata.pop(key, None)
        if cell.metadata.get("jupyter", {}).get("outputs_hidden"):
            cell.metadata = {"collapsed": True, **cell.metadata}  # JupyterLab writes both
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if data.pop(PANEL, None) or data.get("text/plain") == NO_PANEL:
                output.data = {"text/plain": NO_PANEL}
            output.update(as_javascript(output))
    return notebook, resources


def as_javascript(value):
    """The value with whole numbers as JavaScript's JSON.stringify writes them: 1 for 1.0."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return int(value)
    if isinstance(value, dict):
        return type(value)({key: as_javascript(one) for key, one in value.items()})
    return list(map(as_javascript, value)) if isinstance(value, list) else value


def before_save(model, **_) -> None:
    """A hook of Jupyter's server: the metadata stay as `tidy` has them.

    JupyterLab writes the reader's version of Python into each notebook that it opens.
    """
    if model["type"] == "notebook":
        metadata = model["content"]["metadata"]
        if metadata.get("kernelspec", {}).get("name") == KERNEL["name"]:
            metadata |= METADATA


# Jupyter gives `c` to the files of its settings.
c.NotebookExporter.preprocessors = [tidy]  # noqa: F821
c.ContentsManager.pre_save_hook = before_save  # noqa: F821
