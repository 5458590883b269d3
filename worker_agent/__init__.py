"""The agent of a machine: runs the processes that the control plane desires there, and reports them."""
