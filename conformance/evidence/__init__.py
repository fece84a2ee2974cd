"""What a failure leaves to look at: the calls that were made, and the graphs that were captured."""
