import SignalboxCore
import Testing

@Suite struct ArrivalBatchTests {
    @Test func arrivalsAreInOrderWithTheirTokensAndBodies() throws {
        var batch = ArrivalBatch(pool: ArrivalPool())
        for token in 0..<UInt64(100) {
            Reading.append(Array(#"{"action":"a","body":\#(token)}"#.utf8), to: &batch, token: token)
        }
        #expect(batch.count == 100)
        let arrivals = batch.take()
        #expect(arrivals.map(\.token) == Array(0..<100))
        #expect(try arrivals.map { try $0.reading.get().body.decode(UInt64.self) } == Array(0..<100))
        #expect(batch.count == 0)
        #expect(batch.byteCount == 0)
        #expect(batch.take().isEmpty)
    }

    @Test func aMalformedMessageDoesNotAffectOthers() throws {
        var batch = ArrivalBatch(pool: ArrivalPool())
        for text in [#"{"action":"a","body":1}"#, #"{"action":"a","body":[1,2"#, #"{"action":"a","body":3}"#] {
            Reading.append(Array(text.utf8), to: &batch)
        }
        let readings = batch.take().map(\.reading)
        #expect(try readings[0].get().body.decode(Int.self) == 1)
        #expect(throws: Outcome.Rejection.self) { try readings[1].get() }
        #expect(try readings[2].get().body.decode(Int.self) == 3)
    }

    @Test func assignedIDsAreUnique() throws {
        var batch = ArrivalBatch(pool: ArrivalPool())
        var ids = Set<ActionID>()
        for _ in 0..<3 {
            for _ in 0..<10 { Reading.append(Array(#"{"action":"a"}"#.utf8), to: &batch) }
            for arrival in batch.take() { ids.insert(try arrival.reading.get().id) }
        }
        #expect(ids.count == 30)
    }

    @Test func anAdapterRejectionPreservesTheOriginal() throws {
        var batch = ArrivalBatch(pool: ArrivalPool())
        let rejection = Outcome.Rejection(.malformed, detail: "no topic")
        [1, 2, 3].withUnsafeBytes { bytes in
            batch.append(
                rejected: rejection,
                original: bytes,
                token: 9,
                origin: Reading.origin,
                receivedAt: Reading.time
            )
        }
        let arrival = try Missing.unwrap(batch.take().first)
        #expect(arrival.token == 9)
        #expect(throws: rejection) { try arrival.reading.get() }
        #expect(arrival.originalLength == 3 * MemoryLayout<Int>.size)
    }

    @Test func buffersAreReusedOnceTheirLastRangeIsReleased() throws {
        let pool = ArrivalPool(maximumKept: 2)
        var batch = ArrivalBatch(pool: pool)
        var addresses = Set<UnsafeRawPointer>()
        for round in 0..<50 {
            Reading.append(Array(#"{"action":"a","body":\#(round)}"#.utf8), to: &batch)
            let arrivals = batch.take()
            let address = arrivals[0].original.withUnsafeBytes { $0.baseAddress }
            if let address { addresses.insert(address) }
        }
        #expect(addresses.count <= 3)
    }

    @Test func aRetainedRangeIsNotOverwritten() throws {
        let pool = ArrivalPool()
        var batch = ArrivalBatch(pool: pool)
        var kept: [(action: Action, text: String)] = []
        for round in 0..<200 {
            let text = "text number \(round) that is long enough"
            Reading.append(Array(#"{"action":"a","id":"i\#(round)","body":"\#(text)"}"#.utf8), to: &batch)
            let arrivals = batch.take()
            if round % 3 == 0 { kept.append((try arrivals[0].reading.get(), text)) }
        }
        for (index, item) in kept.enumerated() {
            #expect(try item.action.body.decode(String.self) == item.text)
            #expect(item.action.id.text == "i\(index * 3)")
        }
    }
}

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

    // A value of one word. Two of them may hold the same object.
    private struct ValueSender: Sender {
        let connection: Connection

        func send(_ action: ActionName, id: ActionID?, body: Bytes) throws(SendRefused) {}
    }

    // A value that is too large for an existential's buffer, and is stored outside it.
    private struct WideSender: Sender {
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

    @Test func eachArrivalHasItsSender() {
        let first = Connection("first")
        let second = Connection("second")
        let order = [first, first, second, first, second, second]
        let senders = SenderIdentityTests.arrivals(of: order).map { $0.sender as? Connection }
        #expect(senders.map { $0?.name } == order.map { $0.name })
    }

    @Test func anArrivalMayHaveNoSender() {
        let connection = Connection("only")
        let senders = SenderIdentityTests.arrivals(of: [connection, nil, connection]).map { $0.sender as? Connection }
        #expect(senders.map { $0?.name } == ["only", nil, "only"])
    }

    @Test func aValueSenderIsNotConfusedWithItsObject() {
        let connection = Connection("inside")
        let senders: [any Sender] = [connection, ValueSender(connection: connection), connection, OtherConnection()]
        let kinds = SenderIdentityTests.arrivals(of: senders).map { $0.sender.map { "\(type(of: $0))" } }
        #expect(kinds == ["Connection", "ValueSender", "Connection", "OtherConnection"])
    }

    @Test func valueSendersAreStoredUnchanged() {
        let senders = ["one", "two"].map { WideSender(names: ($0, "", "")) }
        let kept = SenderIdentityTests.arrivals(of: senders).map { ($0.sender as? WideSender)?.names.0 }
        #expect(kept == ["one", "two"])
    }

    @Test func consecutiveArrivalsFromOneObjectShareItsEntry() {
        let connection = Connection("only")
        let arrivals = SenderIdentityTests.arrivals(of: [connection, connection, connection])
        #expect(arrivals[2].storage.tables.senders.count == 1)
    }
}
