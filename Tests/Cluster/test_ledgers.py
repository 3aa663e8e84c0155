"""Tests of what decides a trial: the ledgers, their comparison, and the record of the wire."""
import os
import struct
import tempfile
import unittest

from ledgers import Comparison, Ledger, repeated
from taps import Connection, Record, Splitter

LINE = '{"receivedAt":"2026-01-31T12:00:0%d.250Z","body":{"n":%d,"at":%d}}\n'


def message(number, worker=1):
    return worker, number


class ComparisonTests(unittest.TestCase):
    def test_equal_ledgers_have_no_complaint(self):
        found = Comparison({message(0): 0, message(1): 0}, [message(1), message(0)])
        self.assertEqual((found.complaints(), found.duplicates), ([], 0))

    def test_a_missing_line_is_found(self):
        found = Comparison({message(0): 0, message(1): 0}, [message(0)])
        self.assertEqual(found.missing, [message(1)])
        self.assertEqual(len(found.complaints()), 1)

    def test_a_message_of_another_worker_does_not_replace_a_missing_one(self):
        found = Comparison({message(0, worker=1): 0}, [message(0, worker=2)])
        self.assertEqual((found.missing, found.unknown), ([message(0, worker=1)], [message(0, worker=2)]))
        self.assertEqual(len(found.complaints()), 2)

    def test_duplicates_are_counted_and_are_no_complaint(self):
        found = Comparison({message(0): 0}, [message(0)] * 3)
        self.assertEqual((found.complaints(), found.duplicates), ([], 2))

    def test_a_trial_without_messages_is_a_complaint(self):
        self.assertEqual(len(Comparison({}, []).complaints()), 1)


class LedgerTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "worker.jsonl")
        self.ledger = Ledger(1, self.path)

    def append(self, text):
        with open(self.path, "a") as file:
            file.write(text)

    def test_a_ledger_without_a_file_is_empty(self):
        self.ledger.read()
        self.assertEqual(self.ledger.lines, [])

    def test_a_line_counts_when_it_is_whole(self):
        line = LINE % (1, 7, 5)
        self.append(line[:20])
        self.ledger.read()
        self.assertEqual(self.ledger.lines, [])
        self.append(line[20:])
        self.ledger.read()
        self.assertEqual([each for each, _, _ in self.ledger.lines], [message(7)])

    def test_service_is_a_message_handed_over_after_the_fault(self):
        self.append(LINE % (1, 0, 5) + LINE % (2, 1, 9))
        arrived = self.ledger.first_after(6, 0)
        self.assertEqual(arrived, self.ledger.lines[1][2])
        self.assertIsNone(self.ledger.first_after(9, 0))

    def test_the_second_arrival_is_the_repeated_one(self):
        self.append(LINE % (2, 0, 5) + LINE % (1, 0, 5))
        self.ledger.read()
        self.assertEqual(repeated(self.ledger.lines), [self.ledger.lines[0][2]])


def publish(identifier, number, qos=1):
    body = struct.pack(">H", 1) + b"t" + struct.pack(">H", identifier) + b'{"n":%d}' % number
    return bytes([0x30 | qos << 1, len(body)]) + body


class WireTests(unittest.TestCase):
    def test_packets_are_found_in_any_pieces(self):
        text, splitter = publish(1, 5) + b"\xc0\x00" + publish(2, 6), Splitter()
        found = [packet for place in range(len(text)) for packet in splitter.packets(text[place : place + 1])]
        self.assertEqual([kind for kind, _, _ in found], [3, 12, 3])

    def test_a_long_packet_has_a_long_length(self):
        self.assertEqual(len(Splitter().packets(b"\x30\x80\x01" + bytes(128))[0][2]), 128)

    def test_what_the_broker_delivers_is_recorded(self):
        record = Record()
        connection = Connection(None, None, record)
        for packet in Splitter().packets(publish(1, 5) + publish(2, 6)):
            connection.answered(*packet)
        self.assertEqual((list(record.delivered), record.acknowledged), ([5, 6], {}))

    def test_only_what_the_broker_acknowledged_is_in_the_ledger(self):
        record = Record()
        connection = Connection(None, None, record)
        # The second identifier begins with the byte of a brace.
        for packet in Splitter().packets(publish(1, 5) + publish(0x7B01, 6)):
            connection.published(*packet)
        connection.answered(4, 0, b"\x7b\x01")
        connection.answered(4, 0, b"\x00\x09")
        self.assertEqual((list(record.sent), list(record.acknowledged)), ([5, 6], [6]))


if __name__ == "__main__":
    unittest.main()
