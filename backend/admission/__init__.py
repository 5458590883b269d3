"""Who may send how much, how fast and how often: decided before a request is parsed."""
