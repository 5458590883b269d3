"""Rows of embedding tables in a group: the lead looks them up for all peers, and adds the gradients that all of them leave.

part_rows    the rows of one process, and its gradients by part of a mini-batch
row_pipes    a pipe from each other peer to the lead, for rows
peer_rows    a peer's: it asks the lead
binding      ties the tables of a model to them
lead_rows    the lead's: it answers the others, and puts gradients together
"""
