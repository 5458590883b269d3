"""The responses of the API, each defined once: the backend returns these classes, the SDK parses into them.

Request bodies stay with the feature of the backend that checks them."""
