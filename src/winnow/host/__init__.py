"""winnow inside other trainers: one subpackage per host, imported only where its host is installed.

`checkpoint` and `metrics` are what the hosts share.
"""
