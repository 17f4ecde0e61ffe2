"""Many notebooks, or one with many parameters: a process for each run, here or on a cluster.

`lists` reads and checks the list, `jobs` knows what is done, `local` and `cluster` run the rest,
`command` is `python -m itekit batch`.
"""
