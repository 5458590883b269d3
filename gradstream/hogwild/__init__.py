"""Hogwild: threads of one worker process that step on the same parameters without a lock.

Source: Niu, Recht, Re, Wright 2011, "Hogwild!: A lock-free approach to parallelizing stochastic gradient descent".
"""
