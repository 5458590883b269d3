"""Models of other libraries as workloads: `gradstream.adapters.lightning` and `gradstream.adapters.transformers`.

An adapter is a base class of workloads. It imports its library only when a model is made, so that this package needs none of them."""
