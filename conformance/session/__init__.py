"""What one pytest session does: its options, its cases, and how each test is run, judged and noted."""
