"""From columns with names, types and gaps to coordinates, and back."""
