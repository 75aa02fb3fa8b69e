"""From attributes to groups: coordinates, constraints, blocks of attributes, cells, demands as rules."""
