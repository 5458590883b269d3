"""`gradstream train`: one job on this machine without a control plane."""
