"""One thread: the vectors are tiny, and other tests run beside these."""

import torch

torch.set_num_threads(1)
