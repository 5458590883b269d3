"""The sandbox of a job process: what the code of a job sees of its machine, and what it may do there (ADR 70).

`probe` finds the best level of this machine, `sandbox` describes the sandbox of one process, `enter` brings a forked process into
it, `view` is its file system, `door` its way to the data plane and the API, `accounts` its user id. Only the standard library is
imported here: the probe has to be quick."""
