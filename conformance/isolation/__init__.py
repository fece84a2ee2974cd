"""Runs tests in worker processes that may crash, hang or go bad, while the process that the user started may not.

In that process, `controller` holds pytest's hooks, `supervisor` starts and retires workers, `distributor` gives each
one test at a time, and `watchdog` ends those that do not come back.  `worker` is what runs in a worker, and `messages`
is what both say to each other.  The processes are those of pytest-xdist: local, or behind execnet's gateways.
"""
