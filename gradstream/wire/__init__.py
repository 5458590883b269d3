"""The data plane on Redis: a worker's port to it (`port`), the plane of an attempt from outside (`plane`), and below them Redis
(`redis`), transports (`transport`) and metrics on their way (`telemetry`)."""
