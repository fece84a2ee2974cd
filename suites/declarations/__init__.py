"""What an adapter says of each capability, compared with what a small program of the documents sees."""
