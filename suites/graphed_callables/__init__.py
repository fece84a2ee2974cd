"""Graphed callables: functions and modules as graphs inside an autograd-enabled training loop."""
