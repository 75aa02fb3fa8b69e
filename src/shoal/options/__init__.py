"""The table of options, from which the command line, job files, reports and the reference are made."""
