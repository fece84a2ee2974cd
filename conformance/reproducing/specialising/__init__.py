"""A test and all that it calls as one straight program, specialised to what is known when it is written.

The dialect, the capabilities, the parameters and most arguments are known: what depends on them alone is computed now,
branches that they close are left out, and the kit's helpers are written where they are called.  What is left is what
the test does to the implementation.

Each module is one subject; a specialiser is the chain of them, from the state at its base to the program at its end.
What one of them asks of a later one is abstract in the state.
"""
