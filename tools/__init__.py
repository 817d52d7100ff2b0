"""Tools that are run by hand and are not shipped."""
