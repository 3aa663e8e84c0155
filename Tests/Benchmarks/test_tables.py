"""Tests of the way that a table takes from a program into a page."""
import glob
import os
import unittest

import facts
import parts
import tables

PAGE = "Before.\n\n<!-- table one -->\n\nold\n\n<!-- end of table one -->\n\nBetween.\n\n<!-- table two -->\n<!-- end of table two -->\n"


class TableTests(unittest.TestCase):
    def test_a_shown_table_is_found_in_the_output_of_a_program(self):
        output = f"words\n{tables.shown('one', ['a', 'b'], ['1', '2'])}\nmore words\n"
        self.assertEqual(tables.found(output), {"one": "| a | b |\n|---|---|\n| 1 | 2 |\n"})

    def test_only_what_is_between_the_markers_changes(self):
        changed = tables.placed({"page": PAGE, "other": "text\n"}, {"one": "| new |\n"}, "*the line*")
        self.assertEqual(list(changed), ["page"])
        self.assertEqual(changed["page"], PAGE.replace("\n\nold\n\n", "\n\n| new |\n\n*the line*\n\n"))

    def test_a_table_without_content_is_the_place_of_the_line_for_all(self):
        changed = tables.placed({"page": PAGE}, {"one": "| new |\n", "two": ""}, "*the line*")["page"]
        self.assertIn("<!-- table one -->\n\n| new |\n\n<!-- end", changed)
        self.assertIn("<!-- table two -->\n\n*the line*\n\n<!-- end", changed)
        self.assertEqual(tables.placed({"page": changed}, {"one": "| new |\n", "two": ""}, "*the line*")["page"], changed)

    def test_a_second_writing_replaces_the_first(self):
        first = tables.placed({"page": PAGE}, {"one": "| a |\n", "two": "| b |\n"}, "*first*")
        second = tables.placed(first, {"one": "| c |\n", "two": "| d |\n"}, "*second*")["page"]
        self.assertEqual(second, tables.placed({"page": PAGE}, {"one": "| c |\n", "two": "| d |\n"}, "*second*")["page"])

    def test_a_cell_is_written_as_it_is(self):
        cell = "| \\1 \\g<2> \\n |\n"
        self.assertIn(cell, tables.placed({"page": PAGE}, {"one": cell}, "")["page"])

    def test_a_table_needs_exactly_one_place(self):
        for pages in ({"page": "no place\n"}, {"page": PAGE, "other": PAGE}):
            with self.assertRaisesRegex(tables.Misplaced, "one place"):
                tables.placed(pages, {"one": "| new |\n"}, "")

    def test_a_table_without_an_end_and_one_that_is_there_twice_are_refused(self):
        with self.assertRaisesRegex(tables.Misplaced, "no end of the table one"):
            tables.found("<!-- table one -->\n| a |\n")
        with self.assertRaisesRegex(tables.Misplaced, "there twice"):
            tables.found(PAGE + PAGE)

    def test_a_larger_ratio_has_fewer_decimals(self):
        self.assertEqual([tables.ratio([one], [1]) for one in (0.456, 12.34, 1234)], ["0.46", "12.3", "1,234"])
        # The median of the rounds' ratios, not the ratio of the medians.
        self.assertEqual(tables.ratio([1, 10, 30], [1, 100, 10]), "1.00")


class PlaceTests(unittest.TestCase):
    def test_each_table_of_a_part_has_one_place_in_docs_and_each_place_has_a_part(self):
        docs = os.path.join(parts.HERE, "../../docs")
        places = []
        for path in [f"{docs}/benchmarks.md", f"{docs}/capacity.md", *glob.glob(f"{docs}/benchmarks/*.md")]:
            with open(path) as file:
                places += tables.found(file.read())
        self.assertEqual(sorted(places), sorted(name for part in parts.PARTS.values() for name in part.tables))


class PartTests(unittest.TestCase):
    def test_a_word_names_a_part_or_those_that_begin_alike(self):
        self.assertEqual(parts.named(["routes"]), ["routes"])
        self.assertEqual(len(parts.named(["receive"])), 7)
        self.assertRaises(KeyError, parts.named, ["route"])

    def test_all_parts_are_measured_but_those_with_a_target_or_a_long_build(self):
        self.assertEqual(set(parts.PARTS) - set(parts.named([])), {"capacity", "macro"})


class LineTests(unittest.TestCase):
    def test_the_line_says_what_others_used(self):
        self.assertEqual(facts.usage(0.012, is_busy=False), "other processes used 1.2% of the processors")
        self.assertIn("not checked", facts.usage(None, is_busy=False))

    def test_a_table_measured_on_a_busy_machine_says_so(self):
        self.assertIn("`--busy`", facts.usage(0.4, is_busy=True))
        self.assertIn("`--busy`", facts.usage(None, is_busy=True))


if __name__ == "__main__":
    unittest.main()
