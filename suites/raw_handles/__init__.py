"""Raw handles of the template and of the executable: when they exist and what they are good for."""
