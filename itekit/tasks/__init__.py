"""The tasks: copying (here), LTL solving and propositional assignment. No torch in this package."""
