"""Update samples: stored as workers send them, and added up by staleness."""
