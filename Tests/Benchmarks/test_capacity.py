"""Tests of the arithmetic of docs/capacity.md, of what is counted as steady load, and of the configurations."""
import unittest

import capacity_configurations as configurations
import capacity_program
import capacity_sizing as sizing
from capacity_program import Sample
from capacity_sizing import Cost, Need

COSTS = {
    "program": Cost(10_240, 7, 12), "source": Cost(512, 1, 3), "plugin": Cost(10, 0, 0), "chat": Cost(400, 1, 4),
    "connection": Cost(5, 0, 1), "backlog": Cost(1_024, 0, 0),
}
NEED = Need(sources=4, plugins=20, connections=200, messages=5_000)


def status(*sources):
    outcomes = [dict(zip(("handled", "rejected", "failed", "abandoned"), counts)) for counts in sources]
    program = {"processorSeconds": 1.5, "residentBytes": 2_048, "openDescriptors": 9}
    return {"program": program, "sources": [{"outcomes": one} for one in outcomes], "deadLetters": {"last": ["why"]}}


class SizingTests(unittest.TestCase):
    def test_one_more_costs_the_difference_by_the_number(self):
        self.assertEqual(sizing.each(Cost(100, 8, 16), Cost(10_000, 107, 313), 99), Cost(100, 1, 3))

    def test_noise_is_not_a_negative_cost(self):
        self.assertEqual(sizing.each(Cost(100, 8, 16), Cost(90, 8, 16), 99), Cost(0, 0, 0))

    def test_the_base_is_what_remains_without_the_parts(self):
        self.assertEqual(sizing.base(Cost(100, 8, 16), Cost(30, 1, 3), Cost(5, 0, 0)), Cost(65, 7, 13))

    def test_the_costs_come_from_the_corners_of_the_table(self):
        idle = {(1, 1): Cost(1_000, 8, 16), (100, 1): Cost(10_900, 107, 313), (1, 100): Cost(1_000, 8, 16), (100, 100): Cost(12_880, 107, 313)}
        idle |= {(10, 1): Cost(2_000, 17, 43), (10, 100): Cost(2_099, 17, 43)}
        costs = sizing.costs(idle, {(1, 1): 10, (100, 1): 1_000}, (1, 10, 100))
        self.assertEqual((costs["program"], costs["source"]), (Cost(900, 7, 13), Cost(100, 1, 3)))
        self.assertEqual((costs["plugin"].memory, costs["backlog"].memory), (20, 10))

    def test_the_terms_add_up(self):
        whole = sizing.together(sizing.needed(COSTS, NEED))
        self.assertEqual(whole, Cost(10_240 + 4 * 512 + 20 * 10 + 400 + 200 * 5, 7 + 4 + 1, 12 + 4 * 3 + 4 + 200))

    def test_messages_occupy_processors(self):
        self.assertEqual(sizing.processors(5_000, 100), 0.5)

    def test_the_median_of_costs_is_taken_number_by_number(self):
        self.assertEqual(sizing.middle([Cost(1, 9, 2), Cost(3, 7, 2), Cost(2, 8, 2)]), Cost(2, 8, 2))


class TextTests(unittest.TestCase):
    def test_the_example_ends_with_the_sum_the_measurement_and_their_ratio(self):
        rows = sizing.example_rows(sizing.needed(COSTS, NEED), Cost(20_332.8, 12, 456))
        self.assertEqual(rows[1], ["the program", "1", "10,240", "10.0", "7", "12"])
        self.assertEqual(rows[-3], ["together, computed", "", "", "13.6", "12", "228"])
        self.assertEqual(rows[-1][-2:], ["1.00", "2.00"])
        self.assertEqual({len(row) for row in rows}, {6})

    def test_the_load_compares_processors_at_the_same_rate(self):
        rows = sizing.load_rows(NEED, COSTS, 100, (4_000, 50), 17_984)
        self.assertEqual(rows[1], ["us a message, at 4,000 messages a second", "100.0", "50.0", "0.50"])
        self.assertEqual(rows[2], ["processors for 5,000 messages a second", "0.50", "0.25", "0.50"])
        self.assertEqual(rows[3], ["MiB, with a backlog of 1,024 KiB at every source", "17.6", "17.6", "1.00"])

    def test_a_large_number_of_kib_has_no_decimals(self):
        self.assertEqual([sizing.kib(value) for value in (6.66, 99.96, 1234.5)], ["6.7", "100.0", "1,234"])

    def test_nothing_computed_has_no_ratio(self):
        self.assertEqual(sizing.times(3, 0), "")


class SampleTests(unittest.TestCase):
    def test_a_status_is_counted_over_all_sources(self):
        sample = capacity_program.sampled(status((3, 0, 0, 0), (4, 0, 0, 0)))
        self.assertEqual(sample[1:], (7, 1.5, 2_048, 9))

    def test_a_message_that_is_not_handled_ends_the_measurement(self):
        for counts in ((3, 1, 0, 0), (3, 0, 1, 0), (3, 0, 0, 1)):
            with self.assertRaisesRegex(SystemExit, "1 messages were not handled: .*why"):
                capacity_program.sampled(status(counts))

    def test_the_beginning_and_the_end_of_a_load_do_not_count(self):
        samples = [Sample(at, handled, at / 2, 0, 0) for at, handled in enumerate((0, 5, 20, 90, 100, 100))]
        self.assertEqual(capacity_program.steady(samples), (samples[2], samples[3]))

    def test_a_short_load_counts_as_a_whole(self):
        samples = [Sample(at, handled, at, 0, 0) for at, handled in enumerate((0, 50, 100))]
        self.assertEqual(capacity_program.steady(samples), (samples[0], samples[2]))

    def test_a_rate_has_messages_a_second_and_microseconds_each(self):
        self.assertEqual(capacity_program.rate(Sample(1, 100, 0.5, 0, 0), Sample(3, 300, 0.7, 0, 0))[0], 100)
        self.assertAlmostEqual(capacity_program.rate(Sample(1, 100, 0.5, 0, 0), Sample(3, 300, 0.7, 0, 0))[1], 1_000)


class ConfigurationTests(unittest.TestCase):
    def test_each_plugin_may_be_called_by_each_source(self):
        sources = [configurations.feed(1)(number) for number in range(2)]
        lines = configurations.configuration(sources, 3).splitlines()
        self.assertEqual(lines[0], "control: socket")
        self.assertEqual(lines[-1], "  - { action: payment2, use: reply, value: true, from: [source0, source1] }")

    def test_only_sources_of_a_listener_need_one(self):
        self.assertIn("listeners: { web: { port: 7,", configurations.configuration([configurations.requests(0)], 1, port=7))
        self.assertNotIn("listeners", configurations.configuration([configurations.chat()(0)], 1))


if __name__ == "__main__":
    unittest.main()
