"""Virtual time: speeds of workers, costs of messages, and schedules without costs."""
