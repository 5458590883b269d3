"""Job processes: what an agent is asked to start (`order`), how it starts them (`zygote`), and how they end (`exits`)."""
