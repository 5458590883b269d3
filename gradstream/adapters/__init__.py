"""Models of other libraries as workloads: `gradstream.adapters.lightning` and `gradstream.adapters.transformers`.

An adapter is a base class of workloads. It imports its library when a model is made, so this package needs none of them."""
