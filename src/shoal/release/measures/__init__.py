"""What a release loses, what it keeps, and how far from the least possible loss it is."""
