"""Mechanical changes of what users call, each made from a signature, and whether the suites reject them.

A catalogue's fault is somebody's idea of a mistake; these are nobody's.  Every documented member of a class, of its
context manager and of its module meets every operator that fits its arguments and its answer.  What the suites let
pass is either a test that is missing or a change that no document forbids, and the latter are listed with the reason.
"""
