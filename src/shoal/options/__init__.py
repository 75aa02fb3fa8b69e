"""The options of Shoal, one row each: the command line, job files, reports and the reference are made from them."""
