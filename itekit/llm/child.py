"""The child process of `local_server.LocalServer`: llama.cpp's server on a free loopback port.

`python -m itekit.llm.child SETTINGS` takes JSON: "model" (a file), "name", "threads", "context". It
writes its address to standard output as one line, and ends when standard input does, so that it
never outlives the process that started it.
"""

import json
import os
import sys


def serve(settings: dict) -> None:
    """Answer requests until standard input ends."""
    address = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever llama.cpp prints goes where errors go
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = settings["model"]
    params.model_alias = {settings["name"]}
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.offline, params.ui, params.endpoint_slots = True, False, False
    params.n_parallel, params.n_ctx, params.cache_ram_mib = 1, settings["context"], 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["threads"]
    server = xllamacpp.Server(params)
    print(server.listening_address, file=address, flush=True)
    sys.stdin.buffer.read()
    del server


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]))
