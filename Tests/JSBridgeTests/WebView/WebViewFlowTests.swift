import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import JSBridge

/// The bound on a page's messages in the program, and the queues in which others wait.
@Suite(.timeLimit(.minutes(10))) struct WebViewFlowTests {
    private static let calls = """
        const calls = (count, value) => {
          for (let i = 0; i < count; i += 1) {
            signalbox.call('work', value ?? i).then(() => report('done ' + i), (error) => report(error.code + ' ' + i));
          }
        };
        """

    @Test func messagesWithoutCreditWaitInThePage() async throws {
        let intake = RecordingIntake.holding()
        let trial = try WebViewTrial(intake) { $0.messagesInFlight = 4 }
        try await trial.whileRunning(Self.calls + "calls(20);") {
            _ = await intake.taken.first(4)
            for settled in 1...20 {
                #expect(intake.taken.all.count <= settled + 3, "more than four are outstanding")
                await intake.taken.first(settled).last?.settle()
                _ = await trial.reports.first(settled)
            }
            #expect(trial.reports.all == (0..<20).map { "done \($0)" })
        }
    }

    @Test func bytesWithoutCreditWaitInThePage() async throws {
        let intake = RecordingIntake.holding()
        let trial = try WebViewTrial(intake) {
            $0.limits = MessageLimits(bytes: 1_000)
            $0.bytesInFlight = 1_000
        }
        try await trial.whileRunning(Self.calls + "calls(6, 'x'.repeat(400));") {
            for settled in 1...6 {
                let taken = await intake.taken.first(settled)
                #expect(intake.taken.all.count <= settled + 1, "more than two, of 428 units each, are outstanding")
                taken.last?.settle()
                _ = await trial.reports.first(settled)
            }
        }
    }

    @Test func aMessageAsLargeAsTheWholeCreditIsSent() async throws {
        let intake = RecordingIntake.holding()
        let trial = try WebViewTrial(intake) {
            $0.limits = MessageLimits(bytes: 1_000)
            $0.bytesInFlight = 1_000
        }
        let large = "signalbox.call('large', 'x'.repeat(970)).then(() => report('large'));"
        try await trial.whileRunning(Self.calls + "calls(3, 1);" + large + "calls(1, 2);") {
            for one in await intake.taken.first(3) { one.settle() }
            await intake.taken.first(4).last?.settle()
            await intake.taken.first(5).last?.settle()
            #expect(await trial.reports.first(5) == ["done 0", "done 1", "done 2", "large", "done 0"])
        }
    }

    @Test(arguments: [false, true]) func callsBeyondThePagesQueueFailAsFull(isGranted: Bool) async throws {
        let intake = RecordingIntake.holding()
        let trial = try WebViewTrial(intake) {
            $0.messagesInFlight = 1
            $0.messagesWaitingInPage = 2
        }
        try await trial.whileRunning {
            try await trial.evaluate(Self.calls)
            if isGranted { try await trial.untilGranted() }
            try await trial.evaluate("calls(5);")
            #expect(await trial.reports.first(2) == ["full 3", "full 4"])
            #expect(trial.counters.value.callsFullInPage == 2)
            for number in 1...3 { await intake.taken.first(number).last?.settle() }
            #expect(await trial.reports.first(5) == ["full 3", "full 4", "done 0", "done 1", "done 2"])
            try await trial.evaluate("calls(1);")
            await intake.taken.first(4).last?.settle()
            #expect(await trial.reports.first(6).last == "done 0", "there is room again")
        }
        #expect(trial.log.all.count { $0.contains("calls were rejected in the page") } == 1)
    }

    @Test func messagesWithoutRoomAreSubmittedInOrderLater() async throws {
        let intake = RecordingIntake.holding(room: 2)
        let trial = try WebViewTrial(intake)
        try await trial.whileRunning(Self.calls + "calls(5);") {
            _ = await intake.taken.first(2)
            try await trial.evaluate("calls(3);")
            _ = await intake.roomCalls.first(1)
            #expect(intake.taken.all.count == 2)
            intake.makeRoom(4)
            _ = await intake.taken.first(6)
            _ = await intake.roomCalls.first(2)
            intake.makeRoom(100)
            let bodies = try await intake.taken.first(8).map { try $0.arrival.reading.get().body.decode(Int.self) }
            #expect(bodies == [0, 1, 2, 3, 4, 0, 1, 2])
            for one in intake.taken.all { one.settle() }
            #expect(await trial.reports.first(8).count == 8)
        }
        #expect(intake.roomCalls.all.count == 2)
    }

    @Test func aClosedIntakeDrainsWaitingCalls() async throws {
        let intake = RecordingIntake.holding(room: 2)
        let trial = try WebViewTrial(intake)
        try await trial.untilEnd(Self.calls + "calls(5);") {
            _ = await intake.roomCalls.first(1)
            intake.close()
            #expect(await trial.reports.first(3) == ["drain 2", "drain 3", "drain 4"])
            for one in intake.taken.all { one.settle() }
            #expect(await trial.reports.first(5).suffix(2) == ["done 0", "done 1"])
        }
        #expect(trial.reports.all.count == 5)
    }

    @Test func messagesToAnUnresponsivePageAreBounded() async throws {
        let intake = RecordingIntake()
        let trial = try WebViewTrial(intake) { $0.messagesToPage = 8 }
        try await trial.whileRunning("signalbox.on('show', report);") {
            await trial.view.hang()
            var sent = 0
            // The mailbox may be full for a moment before. It stays full once the maximum number of evaluations hang.
            while sent < 100_000, !Task.isCancelled {
                let hangs = await trial.view.mostHeld == 4
                if (try? trial.page.send("show", id: nil, body: Bytes("\(sent)"))) != nil {
                    sent += 1
                } else if hangs {
                    break
                }
                await Task.yield()
            }
            let refusal = #expect(throws: SendRefused.self) { try trial.page.send("show", id: nil, body: Bytes("0")) }
            #expect(refusal == .full)
            #expect(await trial.view.mostHeld <= 4)
            await trial.view.revive()
            #expect(await trial.reports.first(sent) == (0..<sent).map(String.init))
        }
    }

    @Test func messagesWithoutListenersAreBoundedInThePage() async throws {
        let trial = try WebViewTrial(RecordingIntake()) { $0.messagesWithoutListener = 3 }
        try await trial.whileRunning {
            for number in 0..<5 { try trial.page.send("show", id: nil, body: Bytes("\(number)")) }
            _ = await trial.log.line(containing: "too many messages await a listener", times: 2)
            try await trial.evaluate("signalbox.on('show', report);")
            #expect(await trial.reports.first(3) == ["2", "3", "4"])
        }
    }

    @Test func concurrentMessagesBothWaysAllArrive() async throws {
        let intake = RecordingIntake { taken in
            taken.settle(.handled(reply: (try? taken.arrival.reading.get())?.body.json))
        }
        let trial = try WebViewTrial(intake) {
            $0.messagesInFlight = 20
            $0.messagesToPage = 1_000_000
        }
        let script = """
            let sum = 0;
            signalbox.on('add', async (value) => { sum += value; return signalbox.call('echo', value); });
            """
        try await trial.whileRunning(script) {
            let page = trial.page
            try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 1...200 {
                    group.addTask { try await page.call("add", number, returning: Int.self, timeout: .seconds(600)) }
                }
                var sum = 0
                for try await number in group { sum += number }
                #expect(sum == 20_100)
            }
            try await trial.evaluate("report(sum);")
            #expect(await trial.reports.first(1) == ["20100"])
        }
    }
}

@Suite struct FlowCreditTests {
    private typealias Amount = FlowCredit.Amount

    private func credit(_ messages: Int, _ units: Int) -> FlowCredit {
        FlowCredit(capacity: Amount(messages: messages, units: units))
    }

    @Test func aDocumentIsGrantedTheFreeCredit() {
        var credit = credit(4, 100)
        let early = credit.takes(0)
        #expect(early == [false], "nothing is granted yet")
        #expect(credit.isGrantDue)
        let first = credit.grant()
        #expect(first == Amount(messages: 4, units: 100) && !credit.isGrantDue)
        let second = credit.grant()
        #expect(second == first, "nothing more is free")
    }

    @Test func settledMessagesIncreaseTheGrant() {
        var credit = credit(4, 100)
        _ = credit.grant()
        let first = credit.takes(60, 40, 1)
        #expect(first == [true, true, false], "no units are left")
        #expect(credit.outstanding == Amount(messages: 2, units: 100))
        let grant = credit.released(60)
        #expect(grant == Amount(messages: 5, units: 160))
        let second = credit.takes(60, 0, 0, 0)
        #expect(second == [true, true, true, false], "no messages are left")
    }

    @Test(arguments: [
        (released: 1, isDue: false), (released: 2, isDue: true), (released: 3, isDue: true), (released: 8, isDue: true),
    ])
    func aFreeQuarterTriggersAGrant(released: Int, isDue: Bool) {
        var credit = credit(8, 8_000)
        _ = credit.grant()
        for _ in 0..<8 { _ = credit.take(units: 10) }
        for _ in 0..<released { credit.release(units: 10) }
        #expect(credit.isGrantDue == isDue)
    }

    @Test func theLastOutcomeTriggersAGrant() {
        var credit = credit(1_000, 1_000)
        _ = credit.grant()
        let taken = credit.takes(10)
        #expect(taken == [true])
        credit.release(units: 10)
        #expect(credit.isGrantDue, "a message of 995 units may wait, and no other outcome follows")
        let grant = credit.grant()
        #expect(grant == Amount(messages: 1_001, units: 1_010))
    }

    @Test func outstandingMessagesStillCountInANewDocument() {
        var credit = credit(4, 100)
        _ = credit.grant()
        let before = credit.takes(30, 30)
        credit.begin()
        let after = credit.takes(1)
        #expect(before == [true, true] && after == [false])
        let grants = [credit.grant(), credit.released(30), credit.released(30)]
        #expect(
            grants == [Amount(messages: 2, units: 40), Amount(messages: 3, units: 70), Amount(messages: 4, units: 100)]
        )
    }

    @Test(arguments: 0..<20) func outstandingMessagesNeverExceedTheCapacity(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let capacity = Amount(
            messages: .random(in: 1...20, using: &random),
            units: .random(in: 50...500, using: &random)
        )
        var credit = FlowCredit(capacity: capacity)
        var outstanding: [Int] = []
        var taken = 0
        for _ in 0..<3_000 {
            switch Int.random(in: 0..<20, using: &random) {
            case 0: credit.begin()
            case 1..<4:
                if credit.isGrantDue { _ = credit.grant() }
            case 4..<12:
                let units = Int.random(in: 0...50, using: &random)
                if credit.take(units: units) {
                    outstanding.append(units)
                    taken += 1
                }
            default:
                guard !outstanding.isEmpty else { continue }
                credit.release(units: outstanding.remove(at: .random(in: outstanding.indices, using: &random)))
            }
            let sum = Amount(messages: outstanding.count, units: outstanding.reduce(0, +))
            #expect(credit.outstanding == sum)
            #expect(sum.messages <= capacity.messages && sum.units <= capacity.units)
        }
        #expect(taken > 100)
    }

    @Test(arguments: 0..<20) func aWaitingDocumentAlwaysGetsAGrant(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let capacity = Amount(messages: .random(in: 1...10, using: &random), units: 100)
        var credit = FlowCredit(capacity: capacity)
        var granted = Amount.none
        var sent = Amount.none
        var outstanding: [Int] = []
        for _ in 0..<500 {
            let units = Int.random(in: 0...100, using: &random)
            while sent.messages + 1 > granted.messages || sent.units + units > granted.units {
                if credit.isGrantDue {
                    granted = credit.grant()
                } else {
                    try #require(!outstanding.isEmpty, "no message is outstanding and no credit is granted")
                    credit.release(units: outstanding.removeFirst())
                }
            }
            let taken = credit.takes(units)
            #expect(taken == [true])
            sent = sent + Amount(messages: 1, units: units)
            outstanding.append(units)
        }
    }
}

extension FlowCredit {
    fileprivate mutating func takes(_ units: Int...) -> [Bool] {
        units.map { take(units: $0) }
    }

    fileprivate mutating func released(_ units: Int) -> Amount {
        release(units: units)
        return grant()
    }
}
