"""What runs on the far side of the pipe: the launcher, its keepers, and the process that holds a candidate.

The modules import the standard library and each other only, so that a bare interpreter can run them.
"""
