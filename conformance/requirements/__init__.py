"""What is required: the requirements, the documents they come from, and who decides them."""
