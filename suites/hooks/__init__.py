"""Capture-end and post-instantiate hooks: when they run, what they see, how they go, and what their failure leaves."""
