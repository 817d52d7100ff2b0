"""What is run by hand and is not shipped."""
