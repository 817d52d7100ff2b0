"""Constraints compiled in a process of its own, which a cancel or a limit can end.

Read in this order: `worker` (what the kernel asks of it), `child` (the process as the kernel sees
it: started, spoken to, ended), `worker_process` (what runs in it), `composed` (the machine that is
drawn, and who composed it).
"""
