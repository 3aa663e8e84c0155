import SignalboxCore
import Testing

@Suite struct SenderIdentityTests {
    private final class Connection: Sender {
        let name: String

        init(_ name: String) {
            self.name = name
        }

        func send(_ action: ActionName, id: ActionID?, body: Bytes) throws(SendRefused) {}
    }

    private final class OtherConnection: Sender {
        func send(_ action: ActionName, id: ActionID?, body: Bytes) throws(SendRefused) {}
    }

    // One word, two of which may hold the same object.
    private struct Way: Sender {
        let connection: Connection

        func send(_ action: ActionName, id: ActionID?, body: Bytes) throws(SendRefused) {}
    }

    // More than fits into an existential, so it lies elsewhere.
    private struct WideWay: Sender {
        let names: (String, String, String)

        func send(_ action: ActionName, id: ActionID?, body: Bytes) throws(SendRefused) {}
    }

    private static func arrivals(of senders: [(any Sender)?]) -> [Arrival] {
        var batch = ArrivalBatch(pool: ArrivalPool())
        Array(#"{"action":"a"}"#.utf8).withUnsafeBytes { bytes in
            for (token, sender) in senders.enumerated() {
                batch.append(
                    bytes,
                    token: UInt64(token),
                    origin: Reading.origin,
                    sender: sender,
                    receivedAt: Reading.time
                )
            }
        }
        return batch.take()
    }

    @Test func eachArrivalHasTheSenderItWasGiven() {
        let first = Connection("first")
        let second = Connection("second")
        let order = [first, first, second, first, second, second]
        let senders = SenderIdentityTests.arrivals(of: order).map { $0.sender as? Connection }
        #expect(senders.map { $0?.name } == order.map { $0.name })
    }

    @Test func anArrivalWithoutASenderStaysWithoutOne() {
        let connection = Connection("only")
        let senders = SenderIdentityTests.arrivals(of: [connection, nil, connection]).map { $0.sender as? Connection }
        #expect(senders.map { $0?.name } == ["only", nil, "only"])
    }

    @Test func aValueIsNeverTakenForTheObjectItHolds() {
        let connection = Connection("inside")
        let senders: [any Sender] = [connection, Way(connection: connection), connection, OtherConnection()]
        let kinds = SenderIdentityTests.arrivals(of: senders).map { $0.sender.map { "\(type(of: $0))" } }
        #expect(kinds == ["Connection", "Way", "Connection", "OtherConnection"])
    }

    @Test func valuesAreKeptAsTheyAre() {
        let senders = ["one", "two"].map { WideWay(names: ($0, "", "")) }
        let kept = SenderIdentityTests.arrivals(of: senders).map { ($0.sender as? WideWay)?.names.0 }
        #expect(kept == ["one", "two"])
    }

    @Test func arrivalsInARowFromOneObjectShareItsPlace() {
        let connection = Connection("only")
        let arrivals = SenderIdentityTests.arrivals(of: [connection, connection, connection])
        #expect(arrivals[2].storage.tables.senders.count == 1)
    }
}
