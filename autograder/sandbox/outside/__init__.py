"""The trusted side: starts zygotes, opens boxes, watches and ends them."""
