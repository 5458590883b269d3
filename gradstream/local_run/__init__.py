"""`gradstream run job.yaml --local`: the job's workload trained in this process by plain torch, as one would by hand.

It is the baseline that a distributed run is compared with: a DataLoader, the job's optimizer at the strategy's learning rate,
`batch_size` examples per step. It shares only the checks of user code and the scoring with the platform, so it refuses a wrong
workload in the same words. The number of workers, the gate and the rest of the strategy have no meaning here; `stop.steps` counts
the steps of this one process.
"""

from gradstream.local_run.media import LocalMedia
from gradstream.local_run.training import LocalProgress, train

__all__ = ["LocalMedia", "LocalProgress", "train"]
