"""The documented members of the class and the arguments that they take."""
