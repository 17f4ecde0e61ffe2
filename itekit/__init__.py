"""itekit: interchangeable token embeddings, a kit of notebooks and the thin package under them.

Interchangeable tokens (bound variables, atomic propositions, characters to copy) can be renamed
without changing the meaning of a sequence. The package holds the vocabulary, the dual-part
embeddings, the transformer, the losses and the evaluators; the notebooks tell the story.
"""

__version__ = "0.2.0"
