"""A language model on the paper's problems: asked over HTTP, read, and judged by the same checkers.

Paper, section "Comparison with LLMs" and appendix "LLM Setup". From the prompt to the result:

    prompts, questions -> client (a server, any that speaks OpenAI's protocol) -> asking
    answers -> judging -> evaluation
    offline, local_server, child: a small open model in a server process of our own
"""
