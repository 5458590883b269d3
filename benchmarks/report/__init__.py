"""The papers' findings, repeated in small: `make report MNIST=PATH`.

experiments/*.py   what is run, what it should show, and how it is drawn: one file each
lab.py             runs, their stored results, and the processes that compute what is missing
training.py        a run that trains the perceptron of mnist.py in virtual time
formulas.py        runs on quadratics: staleness, stability, momentum
document.py        docs/report/README.md
"""
