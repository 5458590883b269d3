"""The parts of machines that processes have."""
