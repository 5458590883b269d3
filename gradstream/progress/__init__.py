"""How a job's processes stand, how long the rest takes and what is wrong: folded from metrics, for the control plane and
`gradstream train` alike. Pure."""
