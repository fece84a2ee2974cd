"""Drawn programs of runtime calls, played alike on the software model and on a GPU.

`steps_*` says what a program can do, `player` does it on a machine and notes the answers, `drawing` draws programs,
`machines` has the model and the GPU, and `comparison` finds the first answer that differs.
"""
