"""Runs tests in worker processes that may crash, hang or go bad, while the process that the user started may not.

`control` gives each worker one test at a time and keeps the books; `watchdog` ends workers that do not come back;
`worker` is what runs in them.  The processes are those of pytest-xdist: local, or behind execnet's gateways.
"""
