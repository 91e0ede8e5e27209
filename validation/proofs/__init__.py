"""The second lock of `fedco prove`: the claim of every step on exact instances, and the update equations beside the method's code."""
