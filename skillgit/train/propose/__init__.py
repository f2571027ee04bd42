"""From a step's attempts to its candidates: reflect, aggregate, select, update."""
