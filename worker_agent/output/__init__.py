"""The output of job processes, on its way to the control plane."""
