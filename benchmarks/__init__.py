"""Claims of speed, each as a command that prints ratios measured in one run. None is a test: machines are noisy."""
