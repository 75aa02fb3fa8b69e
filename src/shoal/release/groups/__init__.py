"""Forms groups of records: coordinates, constraints, blocks of attributes, cells, and demands as rules."""
