"""What a gateway runs to become a worker: finds the kit, then hands over to it."""

if __name__ == "__channelexec__":
    import os
    import sys

    given = channel.receive()  # type: ignore[name-defined]  # noqa: F821 - execnet puts it there
    told, path = given[0]["conformance"], given[3]
    if told["directory"] is not None:
        os.chdir(told["directory"])
    if told["same_python"]:
        sys.path[:] = path
    else:
        sys.path.insert(0, os.getcwd())  # noqa: PTH109 - sys.path takes strings
    # Before anything is imported that could look at them.
    os.environ.update(told["variables"])

    from conformance.isolation.worker import run

    run(channel, given)  # type: ignore[name-defined]  # noqa: F821
