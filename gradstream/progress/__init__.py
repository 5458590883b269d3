"""Process summaries of a job, the time that its rest takes, and alerts: folded from metrics, for the control plane and
`gradstream train` alike. Pure."""
