"""What a gateway runs to become a worker: finds the kit, then hands over to it."""

if __name__ == "__channelexec__":
    import os
    import sys

    worker_input = channel.receive()  # type: ignore[name-defined]  # noqa: F821 - execnet puts it there
    # A `StartUp` of conformance.isolation.messages, as plain values: the kit cannot be imported yet.
    start_up, path = worker_input[0]["conformance"], worker_input[3]
    if start_up["directory"] is not None:
        os.chdir(start_up["directory"])
    if start_up["same_python"]:
        sys.path[:] = path
    else:
        sys.path.insert(0, os.getcwd())  # noqa: PTH109 - sys.path takes strings
    # Before anything is imported that could look at them.
    os.environ.update(start_up["variables"])

    from conformance.isolation.worker import run

    run(channel, worker_input)  # type: ignore[name-defined]  # noqa: F821
