import DequeModule
import Signalbox
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import JSBridge

@Suite(.timeLimit(.minutes(10))) struct PageHandleTests {
    @Test func aCallAwaitsTheListenersResult() async throws {
        let trial = try PageTrial(
            """
            signalbox.on('double', (n) => 2 * n);
            signalbox.on('later', async (n) => { await new Promise((done) => setTimeout(done, 1)); return { n }; });
            signalbox.on('nothing', () => {});
            """
        )
        let page = trial.engine.page
        try await trial.run {
            #expect(try await page.call("double", 4, returning: Int.self, timeout: .seconds(60)) == 8)
            #expect(try await page.call("later", 5, returning: [String: Int].self, timeout: .seconds(60)) == ["n": 5])
            #expect(try await page.call("nothing", 6, returning: Int?.self, timeout: .seconds(60)) == nil)
            try await page.call("double", 7, timeout: .seconds(60))
        }
    }

    @Test func anAnswerMayBeAsLargeAsTheEnginesLimit() async throws {
        let trial = try PageTrial(
            "signalbox.on('text', (count) => 'x'.repeat(count));",
            configure: { $0.limits = MessageLimits(bytes: 1_048_576) }
        )
        try await trial.run {
            let text = try await trial.engine.page.call("text", 200_000, returning: String.self, timeout: .seconds(60))
            #expect(text.utf8.count == 200_000)
        }
    }

    @Test(arguments: [
        ("throws", "threw", "Error: on purpose"), ("rejects", "threw", "Error: later"),
        ("symbol", "invalidReply", "reply: symbol"), ("nan", "invalidReply", "reply.a: number has no JSON form"),
        ("text", "invalidReply", "typeMismatch"), ("long", "threw", "xxx"),
        ("large", "invalidReply", "1000 bytes"), ("never", "timeout", "0.05 seconds"), ("nobody", "timeout", ""),
    ])
    func aFailedCallReportsTheReason(action: String, code: String, detail: String) async throws {
        let trial = try PageTrial(
            """
            signalbox.on('throws', () => { throw new Error('on purpose'); });
            signalbox.on('rejects', async () => { await null; throw new Error('later'); });
            signalbox.on('symbol', () => Symbol('s'));
            signalbox.on('nan', () => ({ a: NaN }));
            signalbox.on('text', () => 'text');
            signalbox.on('long', () => { throw 'x'.repeat(5000); });
            signalbox.on('large', () => 'x'.repeat(5000));
            signalbox.on('never', () => new Promise(() => {}));
            """,
            configure: { $0.limits = MessageLimits(bytes: 1_000) }
        )
        let page = trial.engine.page
        let name = try ActionName(action)
        let timeout: Duration = code == "timeout" ? .milliseconds(50) : .seconds(60)
        try await trial.run {
            let error = await #expect(throws: PageCallError.self) {
                try await page.call(name, 1, returning: Int.self, timeout: timeout)
            }
            #expect(error?.code.description == code)
            #expect(error?.detail.contains(detail) == true, "\(String(describing: error))")
            #expect(error.map { $0.detail.count <= 600 } == true)
        }
        #expect(trial.engine.scriptErrors == 0)
    }

    @Test func droppingAWaitingCallAnswersIt() async throws {
        // The first message with a listener shows that the call before it waits in the page.
        let trial = try PageTrial(
            "signalbox.on('mark', () => { report('marked'); });",
            configure: { $0.messagesWithoutListener = 1 }
        )
        let page = trial.engine.page
        try await trial.run {
            async let dropped = error { try await page.call("one", 1, timeout: .seconds(60)) }
            try await page.call("mark", 1, timeout: .seconds(60))
            try page.send("two", 2)
            try page.send("three", 3)
            #expect(await dropped?.code == .full)
        }
    }

    @Test func messagesOverTheLimitsAreRefusedBeforeThePageStarts() async throws {
        let trial = try PageTrial(
            "signalbox.on('item', (body) => { report(body); });",
            configure: { configuration in
                configuration.messagesToPage = 3
                configuration.limits = MessageLimits(bytes: 100)
                configuration.title = "the title"
            }
        )
        let page = trial.engine.page
        #expect(page.title == "the title")
        #expect(throws: SendRefused.tooLarge) { try page.send("item", String(repeating: "x", count: 99)) }
        for number in 1...3 { try page.send("item", number) }
        #expect(throws: SendRefused.full) { try page.send("item", 4) }
        await #expect(throws: PageCallError.self) { try await page.call("item", 5) }
        try await trial.run { #expect(await trial.reports.first(3) == ["1", "2", "3"]) }
    }

    @Test func closingThePageEndsItsCalls() async throws {
        let trial = try PageTrial("signalbox.on('never', () => { report('called'); return new Promise(() => {}); });")
        let page = trial.engine.page
        try await trial.run {
            async let answer = error { try await page.call("never", 1, timeout: .seconds(600)) }
            _ = await trial.reports.first(1)
            page.close()
            page.close()
            #expect(await answer?.code == .closed)
            #expect(throws: SendRefused.closed) { try page.send("never", 1) }
            #expect(await error { try await page.call("never", 1) }?.code == .closed)
        }
    }

    @Test func cancellingTheCallersTaskEndsTheCall() async throws {
        let trial = try PageTrial("signalbox.on('never', () => { report('called'); return new Promise(() => {}); });")
        let page = trial.engine.page
        try await trial.run {
            let caller = Task { await error { try await page.call("never", 1, timeout: .seconds(600)) } }
            _ = await trial.reports.first(1)
            caller.cancel()
            #expect(await caller.value?.code == .closed)
            let early = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return await error { try await page.call("never", 1, timeout: .seconds(600)) }
            }
            #expect(await early.value?.code == .closed)
        }
    }

    @Test func aZeroTimeoutOrAnInvalidBodyIsRefused() async throws {
        let trial = try PageTrial("")
        #expect(await error { try await trial.engine.page.call("a", 1, timeout: .zero) }?.code == .invalidArgument)
        #expect(await error { try await trial.engine.page.call("a", Double.nan) }?.code == .invalidArgument)
    }

    private func error(_ work: () async throws -> Void) async -> PageCallError? {
        do {
            try await work()
            return nil
        } catch {
            return error as? PageCallError
        }
    }
}

@Suite(.timeLimit(.minutes(10))) struct PageMailboxTests {
    private final class Reader: MailboxReader {
        let events = EventList<String>()

        func messagesArrived() { events.append("messages") }

        func close() { events.append("close") }
    }

    private static func mailbox() -> PageMailbox {
        PageMailbox(title: nil, bound: 10, limits: MessageLimits(bytes: 1_000))
    }

    @Test func aNewReaderIsNotifiedOfWaitingMessages() throws {
        let (mailbox, reader) = (Self.mailbox(), Reader())
        for number in 1...2 { try mailbox.send("show", id: nil, body: Bytes("\(number)")) }
        mailbox.attach(reader)
        #expect(reader.events.all == ["messages"])
        #expect(mailbox.takeMessages().count == 2)
        try mailbox.send("show", id: nil, body: Bytes("3"))
        #expect(reader.events.all == ["messages", "messages"])
    }

    @Test func aReaderOfAnEmptyMailboxIsNotNotified() {
        let (mailbox, reader) = (Self.mailbox(), Reader())
        mailbox.attach(reader)
        #expect(reader.events.all.isEmpty)
    }

    @Test func aTimeoutBeforeTheCallIsRegisteredEndsIt() async throws {
        let mailbox = Self.mailbox()
        for _ in 0..<2_000 {
            let error = await #expect(throws: PageCallError.self) {
                try await mailbox.call("ask", body: Bytes("1"), timeout: .nanoseconds(1))
            }
            #expect(error?.code == .timeout)
        }
        #expect(mailbox.isIdle)
    }
}

@Suite struct DequeTests {
    @Test func elementsAreTakenInOrder() {
        var queue = Deque([1, 2, 3, 4, 5])
        #expect(queue.take(atMost: 2, bytes: .max) { _ in 1 } == [1, 2])
        queue.append(6)
        #expect(Array(queue) == [3, 4, 5, 6] && queue.count == 4)
        #expect(queue.take(atMost: .max, bytes: .max) { _ in 1 } == [3, 4, 5, 6])
        #expect(queue.isEmpty && queue.take(atMost: 1, bytes: 1) { _ in 1 }.isEmpty)
    }

    @Test func theSizeLimitAlwaysAdmitsOneElement() {
        var queue = Deque([7, 2, 2, 9])
        #expect(queue.take(atMost: 9, bytes: 5) { $0 } == [7])
        #expect(queue.take(atMost: 9, bytes: 5) { $0 } == [2, 2])
        #expect(queue.take(atMost: 9, bytes: 5) { $0 } == [9])
    }

    @Test func removedElementsAreNotTaken() {
        var queue = Deque([1, 2, 3, 4])
        _ = queue.take(atMost: 1, bytes: .max) { _ in 1 }
        queue.removeAll { $0 % 2 == 1 }
        #expect(Array(queue) == [2, 4])
    }
}
