"""Parses the URLs of the table with PyPI's ada-url, called from Python. Prints the median times in nanoseconds."""
import statistics
import sys
import time

import ada_url

URLS = [
    "myapp://product/42?ref=mail",
    "https://shop.example/product/42/reviews?page=2&sort=new#top",
    "https://www.shop.example:8443/a/b/c/../d/e.html?q=caf%C3%A9",
]
COUNT = 20_000

for url in URLS:
    times = []
    for _ in range(int(sys.argv[1])):
        began = time.perf_counter_ns()
        for _ in range(COUNT):
            ada_url.URL(url).pathname
        times.append((time.perf_counter_ns() - began) / COUNT)
    print(f"{statistics.median(times):.0f}")
