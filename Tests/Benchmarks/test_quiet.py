"""Tests of the arithmetic by which a machine is quiet, with invented processes and no waiting."""
import unittest

import quiet
from quiet import Process, Snapshot

INIT, SHELL, BENCH, ROW, OTHER = 1, 10, 20, 21, 30


def snapshot(at, stolen=0, **changes):
    """Returns a snapshot of five processes that have used nothing, but for the changes: `own` and `ended` by name."""
    parents = {"init": (INIT, 0), "shell": (SHELL, INIT), "bench": (BENCH, SHELL), "row": (ROW, BENCH), "other": (OTHER, SHELL)}
    processes = {}
    for name, (id, parent) in parents.items():
        if (used := changes.get(name, (0, 0))) is not None:
            processes[id] = Process(parent, name, *used)
    return Snapshot(at, stolen, processes)


def share(before, after):
    return quiet.share_of_others(before, after, BENCH, processors=2)


class ShareTests(unittest.TestCase):
    def test_what_the_benchmark_and_its_processes_use_does_not_count(self):
        self.assertEqual(share(snapshot(0), snapshot(10, bench=(1, 0), row=(9, 4))), 0)

    def test_another_process_counts_as_a_share_of_all_processors(self):
        self.assertEqual(share(snapshot(0, other=(5, 0)), snapshot(10, other=(15, 0))), 0.5)

    def test_a_process_of_the_benchmark_that_ends_still_does_not_count(self):
        self.assertEqual(share(snapshot(0, row=(1, 0)), snapshot(10, row=None, bench=(0, 9))), 0)

    def test_another_process_that_lives_between_the_snapshots_counts_with_its_parent(self):
        self.assertEqual(share(snapshot(0), snapshot(10, shell=(0, 2))), 0.1)

    def test_another_process_that_ends_counts_once(self):
        self.assertEqual(share(snapshot(0, other=(100, 0)), snapshot(10, other=None, shell=(0, 102))), 0.1)

    def test_what_a_hypervisor_gives_to_other_machines_counts(self):
        self.assertEqual(share(snapshot(0, stolen=3), snapshot(10, stolen=5)), 0.1)

    def test_a_process_that_is_gone_with_its_times_does_not_make_the_share_negative(self):
        self.assertEqual(share(snapshot(0, other=(100, 0)), snapshot(10, other=None)), 0)


class ParsingTests(unittest.TestCase):
    def test_a_name_may_have_spaces_and_parentheses(self):
        stat = "42 (a) (b c)) S 7 1 1 0 -1 0 0 0 0 0 150 50 300 100 20 0"
        self.assertEqual(quiet.parsed(stat, ticks=100), Process(7, "a) (b c)", 2, 4))

    def test_the_stolen_time_is_the_eighth(self):
        self.assertEqual(quiet.stolen_seconds("cpu  1 2 3 4 5 6 7 250 9 10", ticks=100), 2.5)


class WaitingTests(unittest.TestCase):
    def wait(self, *snapshots):
        """Waits with these snapshots instead of the machine's. Returns what it says and how often it would have slept."""
        taken, said, slept = iter(snapshots), [], []
        quiet.wait(BENCH, 2, take=lambda: next(taken), sleep=slept.append, say=said.append)
        return said, len(slept)

    def test_a_quiet_machine_needs_one_look(self):
        self.assertEqual(self.wait(snapshot(0), snapshot(2, other=(0.1, 0))), ([], 1))

    def test_a_busy_machine_is_watched_until_it_is_quiet(self):
        said, looks = self.wait(snapshot(0), snapshot(2, other=(2, 0)), snapshot(2, other=(2, 0)), snapshot(4, other=(2, 0)))
        self.assertEqual(looks, 2)
        self.assertIn("other (30) 100%", said[0])

    def test_a_machine_that_stays_busy_is_refused_with_the_names_of_the_busiest(self):
        snapshots = (snapshot(at, other=(at, 0), shell=(at / 2, 0)) for at in (0, *(at for at in range(2, 200) for _ in (1, 2))))
        with self.assertRaises(quiet.Busy) as refused:
            self.wait(*snapshots)
        self.assertIn("other (30) 100%, shell (10) 50%", str(refused.exception))
        self.assertIn("--busy", str(refused.exception))


class NameTests(unittest.TestCase):
    def test_the_benchmark_is_not_among_the_busiest(self):
        names = quiet.busiest(snapshot(0), snapshot(10, row=(10, 0), other=(1, 0)), BENCH)
        self.assertEqual(names, "other (30) 10%")

    def test_if_none_is_left_they_have_ended(self):
        self.assertEqual(quiet.busiest(snapshot(0), snapshot(10, shell=(0, 9)), BENCH), "processes that have ended")


if __name__ == "__main__":
    unittest.main()
