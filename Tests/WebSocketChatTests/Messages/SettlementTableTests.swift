import SignalboxCore
import Testing

@testable import WebSocketChat

@Suite struct SettlementTableTests {
    private func arrivals(_ messages: [String], tokens: [UInt64], on connection: InboundConnection) -> [Arrival] {
        var batch = ArrivalBatch(pool: ArrivalPool())
        for (message, token) in zip(messages, tokens) {
            Array(message.utf8).withUnsafeBytes {
                batch.append($0, token: token, origin: connection.origin, receivedAt: WallTime(seconds: 0))
            }
        }
        return batch.take()
    }

    /// Expects the messages, all from one connection.
    private func expect(_ messages: [String], _ feeding: Feeding, of owner: InboundConnection) -> [UInt64] {
        let tokens = feeding.table.reserve(messages.count)
        owner.flow.add(messages.count)
        feeding.table.expect(
            arrivals(messages, tokens: tokens, on: owner),
            of: Array(repeating: owner, count: messages.count)
        )
        return tokens
    }

    @Test func anAnswerUsesTheSendersIDKey() {
        let feeding = Feeding()
        let owner = feeding.connection()
        let tokens = expect(
            [#"{"action":"a","id":"1"}"#, #"{"action":"a","uuid":"2"}"#, #"{"action":"a"}"#, "nonsense"],
            feeding,
            of: owner
        )
        for token in tokens.reversed() { feeding.table.settle(token, .handled(reply: Bytes("7"))) }
        #expect(
            feeding.sender.texts(on: owner.id) == [
                #"{"uuid":"2","outcome":"handled","reply":7}"#, #"{"id":"1","outcome":"handled","reply":7}"#,
            ]
        )
    }

    @Test func aTableWithoutAnswersSendsNothing() {
        let feeding = Feeding()
        let owner = feeding.connection()
        let table = SettlementTable(answers: false)
        let tokens = table.reserve(1)
        owner.flow.add(1)
        table.expect(arrivals([#"{"action":"a","id":"1"}"#], tokens: tokens, on: owner), of: [owner])
        table.settle(tokens[0], .handled(reply: nil))
        #expect(feeding.sender.texts(on: owner.id).isEmpty && table.unsettled == 0)
    }

    @Test func aTokenIsSettledOnceAndLateOutcomesAreIgnored() {
        let feeding = Feeding(window: 2)
        let owner = feeding.connection()
        let first = expect([#"{"action":"a","id":"1"}"#], feeding, of: owner)[0]
        feeding.table.settle(first, .handled(reply: nil))
        feeding.table.settle(first, .handled(reply: nil))
        #expect(feeding.table.unsettled == 0)
        // The slot is reused, under another token.
        let second = expect([#"{"action":"a","id":"2"}"#], feeding, of: owner)[0]
        #expect(second != first && UInt32(truncatingIfNeeded: second) == UInt32(truncatingIfNeeded: first))
        feeding.table.settle(first, .abandoned(.stop))
        #expect(feeding.table.unsettled == 1)
        feeding.table.settle(second, .handled(reply: nil))
        #expect(feeding.table.unsettled == 0)
        #expect(feeding.sender.texts(on: owner.id).count == 2)
    }

    @Test func anAcceptedMessageTakesNoPlaceInTheWindowAndIsAnsweredTwice() {
        let feeding = Feeding(window: 1)
        let owner = feeding.connection()
        let first = expect([#"{"action":"a","uuid":"1"}"#], feeding, of: owner)[0]
        #expect(owner.flow.isPaused)
        feeding.table.accepted(first)
        feeding.table.accepted(first)
        #expect(!owner.flow.isPaused && feeding.table.unsettled == 1)
        let second = expect([#"{"action":"a","id":"2"}"#], feeding, of: owner)[0]
        #expect(second != first && owner.flow.isPaused)
        feeding.table.settle(first, .handled(reply: nil))
        feeding.table.accepted(first)
        #expect(owner.flow.isPaused)
        feeding.table.accepted(second)
        feeding.table.settle(second, .abandoned(.kept))
        #expect(!owner.flow.isPaused && feeding.table.unsettled == 0)
        #expect(
            feeding.sender.texts(on: owner.id) == [
                #"{"uuid":"1","outcome":"accepted"}"#, #"{"uuid":"1","outcome":"handled"}"#,
                #"{"id":"2","outcome":"accepted"}"#,
            ]
        )
    }

    @Test func unexpectedTokensAreIgnored() {
        let feeding = Feeding()
        let reserved = feeding.table.reserve(2)
        feeding.table.settle(reserved[0], .handled(reply: nil))
        feeding.table.settle(.max, .handled(reply: nil))
        feeding.table.settle(12_345, .handled(reply: nil))
        #expect(feeding.table.unsettled == 0)
        #expect(Set(reserved + feeding.table.reserve(3)).count == 5)
    }

    @Test func theLastOutcomeEndsTheWait() async {
        let feeding = Feeding()
        let owner = feeding.connection()
        let tokens = expect([#"{"action":"a"}"#, #"{"action":"b"}"#], feeding, of: owner)
        let table = feeding.table
        await table.settled(after: {
            table.settle(tokens[1], .handled(reply: nil))
            #expect(table.unsettled == 1)
            table.settle(tokens[0], .abandoned(.drain))
        })
        #expect(feeding.table.unsettled == 0)
        await feeding.table.settled()
    }

    /// Outcomes arrive on many threads while messages are read. Every one is counted, and the table is only as large as
    /// the maximum number of unsettled messages.
    @Test func manyThreadsSettleWhileOneReads() async {
        let feeding = Feeding(window: 1_000_000)
        let owner = feeding.connection()
        let (tokens, continuation) = AsyncStream<UInt64>.makeStream()
        await withTaskGroup { group in
            for _ in 0..<4 {
                group.addTask { [table = feeding.table] in
                    for await token in tokens { table.settle(token, .handled(reply: nil)) }
                }
            }
            for round in 0..<500 {
                for token in expect([#"{"action":"a","id":"\#(round)"}"#, "x"], feeding, of: owner) {
                    continuation.yield(token)
                }
            }
            continuation.finish()
        }
        await feeding.table.settled()
        #expect(feeding.sender.texts(on: owner.id).count == 500)
        #expect(feeding.table.unsettled == 0)
    }
}

extension SettlementTable {
    /// Runs `work` while waiting, and returns when the last outcome has arrived.
    func settled(after work: @Sendable @escaping () -> Void) async {
        async let waiting: Void = settled()
        work()
        await waiting
    }
}

@Suite struct ConnectionFlowTests {
    private let sender = FakeSender()
    private let id = ConnectionID.next()

    private func make(_ window: Int) -> ConnectionFlow { ConnectionFlow(id, window: window, transport: sender) }

    @Test func theWindowPausesWhenFullAndResumesAtHalf() {
        let flow = make(4)
        flow.add(3)
        #expect(!flow.isPaused)
        flow.add(1)
        #expect(flow.isPaused)
        flow.settle()
        #expect(flow.isPaused && sender.calls.isEmpty)
        flow.settle()
        #expect(!flow.isPaused)
        flow.settle()
        #expect(sender.commands(for: id) == [.resume])
    }

    @Test func aWindowOfOneReadsOneMessageAtATime() {
        let flow = make(1)
        for _ in 0..<3 {
            flow.add(1)
            #expect(flow.isPaused)
            flow.settle()
            #expect(!flow.isPaused)
        }
        #expect(sender.commands(for: id) == [.resume, .resume, .resume])
    }

    @Test func readingResumesWhenNoPauseReasonRemains() {
        let flow = make(2)
        flow.add(2)
        flow.pause(.backpressure)
        flow.settle()
        flow.settle()
        #expect(flow.isPaused && sender.calls.isEmpty)
        flow.unpause(.backpressure)
        #expect(!flow.isPaused)
        flow.unpause(.backpressure)
        #expect(sender.commands(for: id) == [.resume])
    }

    @Test func aPauseIsRequestedOnce() {
        let flow = make(2)
        flow.pause(.backpressure)
        flow.pause(.backpressure)
        flow.pause(.stopping)
        flow.unpause(.backpressure)
        #expect(flow.isPaused)
        #expect(sender.commands(for: id) == [.pause])
    }

    /// The commands alternate, and the last one matches the state.
    @Test func commandsFollowTheOrderOfStateChanges() async {
        let flow = make(1_000_000)
        await withTaskGroup { group in
            for reason in [PauseReasons.backpressure, .stopping] {
                group.addTask {
                    for _ in 0..<2_000 {
                        flow.pause(reason)
                        flow.unpause(reason)
                    }
                }
            }
        }
        let commands = sender.commands(for: id)
        #expect(!flow.isPaused)
        for (index, command) in commands.enumerated() {
            #expect(command == (index.isMultiple(of: 2) ? .pause : .resume))
        }
        #expect(commands.count.isMultiple(of: 2) && !commands.isEmpty)
    }
}

@Suite struct PendingArrivalsTests {
    private static func arrivals(_ tokens: Range<Int>) -> [Arrival] {
        var batch = ArrivalBatch(pool: ArrivalPool())
        let origin = Origin(source: "chat", facts: ChatFacts(role: .server, peer: ""))
        for token in tokens {
            Array("{}".utf8).withUnsafeBytes {
                batch.append($0, token: UInt64(token), origin: origin, receivedAt: WallTime(seconds: 0))
            }
        }
        return batch.take()
    }

    @Test func partsAreTakenInOrderAcrossBatches() {
        var pending = PendingArrivals()
        #expect(pending.front.isEmpty)
        for start in stride(from: 0, to: 1_000, by: 5) { pending.append(Self.arrivals(start..<start + 5)) }
        pending.append([])
        var next = 0
        while pending.count > 0 {
            let count = min(pending.front.count, 1 + next % 4)
            #expect(pending.front.prefix(count).map(\.token) == (next..<next + count).map { UInt64($0) })
            pending.removeFirst(count)
            next += count
            #expect(pending.count == 1_000 - next)
        }
        #expect(next == 1_000 && pending.front.isEmpty)
    }

    @Test func theRestCanBeTakenAtOnce() {
        var pending = PendingArrivals()
        pending.append(Self.arrivals(0..<3))
        pending.append(Self.arrivals(3..<5))
        pending.removeFirst(2)
        #expect(pending.removeAll().map(\.token) == [2, 3, 4])
        #expect(pending.count == 0 && pending.front.isEmpty)
        pending.append(Self.arrivals(7..<8))
        #expect(pending.front.map(\.token) == [7])
    }
}
