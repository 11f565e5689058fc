import json, random, sys, exported

def choose(designs):
    random.seed(int(sys.argv[2]))
    return random.sample(designs, min(100, len(designs)))

def said(design, blocks, balancing, loop, implementation, block_threads):
    return dict(
        threadsPerUnit=design["threads_per_unit"], blockThreads=block_threads, loop=loop, balancing=balancing,
        registerCap=design["register_cap"] or None, **({} if implementation in (None, "") else dict(implementation=implementation)),
        **({} if balancing.startswith("mixed") else dict(gridBlocks=blocks)),
    )
