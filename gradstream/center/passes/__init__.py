"""The passes over the data at the shards: when they close (`clock`), and the exports at their ends (`exports`)."""
