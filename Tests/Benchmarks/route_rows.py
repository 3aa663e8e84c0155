"""Measures ada-url from Python, and then the other ways to read a URL, whose program prints the tables of both.

usage: route_rows.py PROGRAMS PYTHON ROUNDS

PROGRAMS is the folder of the built programs, PYTHON an interpreter with ada-url, or empty.
"""
import os
import subprocess
import sys

PROGRAMS, PYTHON, ROUNDS = sys.argv[1:]
times = []
if PYTHON:
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ada_url_parsing.py")
    times = subprocess.run([PYTHON, script, ROUNDS], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
else:
    print("skipped: the column of ada-url, which cannot be installed", flush=True)
subprocess.run([os.path.join(PROGRAMS, "RouteBenchmark"), ROUNDS, *times], check=True)
