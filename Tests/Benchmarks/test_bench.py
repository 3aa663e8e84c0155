"""Tests of what becomes of a measurement: shown, written or refused."""
import contextlib
import io
import os
import tempfile
import types
import unittest
from unittest import mock

import bench
import quiet
import tables

TABLE = tables.shown("routes", ["a"], ["1"])


def measured(output):
    return types.SimpleNamespace(output=output, line=lambda: "*the line*")


def disturbed(share, is_busy):
    """Returns a measurement during which others used this share."""
    measurement = object.__new__(bench.Measurement)
    measurement.checks, measurement.options = True, types.SimpleNamespace(busy=is_busy)
    measurement.before, measurement.after = [quiet.Snapshot(at, 0, {}) for at in (0, 10)]
    measurement.share = lambda: share
    return measurement


class WritingTests(unittest.TestCase):
    def setUp(self):
        contexts = contextlib.ExitStack()
        self.addCleanup(contexts.close)
        folder = contexts.enter_context(tempfile.TemporaryDirectory())
        contexts.enter_context(mock.patch.object(bench, "DOCS", folder))
        contexts.enter_context(contextlib.redirect_stderr(io.StringIO()))
        self.page = os.path.join(folder, "benchmarks.md")
        with open(self.page, "w") as file:
            file.write(tables.marked("routes", ""))

    def written(self, output):
        bench.write(measured(output))
        with open(self.page) as file:
            return file.read()

    def test_a_table_is_written_with_its_line(self):
        self.assertIn("| 1 |\n\n*the line*\n", self.written(TABLE))

    def test_a_table_with_missing_rows_is_not_written(self):
        self.assertEqual(self.written(f"skipped: the column of ada-url\n{TABLE}"), tables.marked("routes", ""))


class DisturbanceTests(unittest.TestCase):
    def test_up_to_the_limit_a_table_counts(self):
        self.assertIsNone(disturbed(quiet.LIMIT, is_busy=False).complaint())
        self.assertIsNone(disturbed(None, is_busy=False).complaint())

    def test_above_the_limit_it_does_not_unless_that_was_asked_for(self):
        self.assertIn("6% of the processors", disturbed(0.06, is_busy=False).complaint())
        self.assertIsNone(disturbed(0.06, is_busy=True).complaint())


if __name__ == "__main__":
    unittest.main()
