"""The GPUs of this machine: which there are, whether torch can use them, and how much of one a process may take."""
