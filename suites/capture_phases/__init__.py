"""The end of a capture in two phases: what each does, what may come between, and what is misuse."""
