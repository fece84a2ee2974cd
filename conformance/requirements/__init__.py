"""What is required: the requirements, the documents that they come from, and the page made from both."""
