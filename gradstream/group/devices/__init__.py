"""Groups whose processes compute on devices of their own: how gradients get from there, or add up there."""
