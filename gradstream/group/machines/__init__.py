"""Groups over several machines: whole replicates on each, and the lead on the first.

For each mini-batch the lead sends each other machine its examples and theta. The processes there compute as a group does, and the
first of them returns the sum of their gradients, which the lead adds to its own.

machine_problem  the first process of another machine, which answers the lead
machine_link     the lead's end of a connection to another machine, with a thread
connecting       the connections between the lead and the other machines
"""
