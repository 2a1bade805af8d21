"""The embedded model's process: the engine's own server, which dies with its parent.

`python -m local_model.server --model FILE.gguf --socket FILE.sock [--context N] [--threads N]`. It
listens at a Unix socket, in a folder that no other user may open. The key that callers must present
is read from the environment, so that it appears in no process list. Once the model is loaded, one
line of JSON goes to standard output.
"""

import argparse
import json
import os
import sys

from local_model.settings import KEY_VARIABLE


def main() -> None:
    """Serve until the parent ends."""
    parser = argparse.ArgumentParser(prog="python -m local_model.server", description=__doc__)
    parser.add_argument("--model", required=True, help="a GGUF file")
    parser.add_argument("--socket", required=True, help="where to listen: a name ending in .sock")
    parser.add_argument("--name", default="local", help="the model's name in answers")
    parser.add_argument("--context", type=int, default=4096, help="tokens of prompt and answer")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    key = os.environ.pop(KEY_VARIABLE, "")
    if not key:
        sys.exit(f"Set {KEY_VARIABLE} to the key that callers must present.")
    os.environ["OMP_WAIT_POLICY"] = "passive"  # read when the engine is imported
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = arguments.model
    params.model_alias = {arguments.name}
    params.n_ctx = arguments.context
    params.n_parallel = 1
    params.n_gpu_layers = 0
    params.fit_params = False  # to the memory of a GPU; with the next, two fifths of the start
    params.warmup = False
    params.cpuparams.n_threads = arguments.threads
    params.cpuparams_batch.n_threads = arguments.threads
    params.cache_ram_mib = 1024
    params.force_pure_content_parser = True  # the shim reads the answers
    params.verbosity = 1
    params.offline = True
    params.hostnames = [arguments.socket]
    params.ui = False
    params.api_keys = [key]
    engine = xllamacpp.Server(params)  # serves while it is kept
    print(json.dumps({"listens": engine.listening_address}), flush=True)
    while os.read(sys.stdin.fileno(), 4096):  # only the parent holds the other end
        pass
    os._exit(0)  # nothing to save, and the engine may be busy


if __name__ == "__main__":
    main()
