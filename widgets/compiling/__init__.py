"""Compiling in a separate process, which a cancel or a limit can end.

Read in this order: `worker` (the kernel's interface to it), `child` (the process as the kernel sees
it: started, sent messages, ended), `worker_process` (the code that runs in it), `composed` (the
machine that is drawn, and how it was composed).
"""
