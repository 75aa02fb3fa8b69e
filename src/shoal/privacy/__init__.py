"""What is promised is checked on the published table alone."""
