"""The commands of `python -m itekit`, each module a few of them; see `__main__`."""
