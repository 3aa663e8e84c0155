import AppScheme
import Logging
import Signalbox
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct DeliveryTests {
    private static func trial(
        inbox: LinkInbox = LinkInbox(links: 10_000, bytes: 1 << 24),
        limits: MessageLimits = MessageLimits()
    ) throws -> LinkTrial {
        LinkTrial(try AppRoutes("myapp://do/{id}", "do"), inbox: inbox, limits: limits)
    }

    private static func link(_ number: Int) -> String { "myapp://do/\(number)" }

    private static func register(_ gate: Gate, with supervisor: Supervisor) throws -> CallList<String> {
        let seen = CallList<String>()
        try supervisor.register(
            Registration(
                "do",
                as: RawBody.self,
                from: .link(scheme: "myapp"),
                options: PluginOptions(timeout: .seconds(3_600))
            ) { _, context in
                seen.add(context.id.text)
                await gate.pass()
            }
        )
        return seen
    }

    @Test func linksOpenedBeforeTheRunAreDeliveredOnceInOrder() async throws {
        let trial = try Self.trial(inbox: LinkInbox(links: 3, bytes: 1_000))
        let opened = (0..<5).map { trial.inbox.open(Self.link($0)) }
        #expect(opened == [true, true, true, false, false])
        #expect(trial.inbox.refused == 2)

        let supervisor = trial.makeSupervisor()
        let seen = try Self.register(Gate(isOpen: true), with: supervisor)
        try supervisor.add(trial.adapter)
        try await supervisor.whileRunning {
            _ = await trial.settled.first(3)
            trial.inbox.open(Self.link(9))
            _ = await trial.settled.first(4)
        }
        #expect(seen.all == ["0", "1", "2", "9"])
        #expect(trial.reported.all.map(\.link) == [0, 1, 2, 9].map(Self.link))
        #expect(trial.log.all.contains { $0.contains("3 links waited") })
        #expect(trial.log.all.count { $0.contains("2 links were refused") } == 1)
    }

    enum Stop: Sendable, CaseIterable { case cancellation, shutdown }

    /// The plugin has one link, a second waits for room in a full window, and a third is in the inbox.
    @Test(arguments: Stop.allCases)
    func stoppingReturnsUnsubmittedLinksToTheInbox(_ stop: Stop) async throws {
        let trial = try Self.trial()
        for number in 0..<3 { trial.inbox.open(Self.link(number)) }
        let gate = Gate()
        let first = trial.makeSupervisor()
        let seen = try Self.register(gate, with: first)
        let window = WindowLimits(arrivals: 1)
        let intake = ForwardingIntake(intake: try first.intake(for: "links", window: window))
        try await first.whileRunning {
            let running = Task { await trial.adapter.run(into: intake) }
            _ = await intake.roomCalls.first(1)
            #expect(trial.inbox.waiting == 1)
            switch stop {
            case .cancellation: running.cancel()
            case .shutdown:
                first.shutDown()
                _ = await intake.closings.first(1)
            }
            gate.open()
            await running.value
        }
        #expect(seen.all == ["0"])
        #expect(trial.inbox.waiting == 2)
        #expect(trial.reported.all.map(\.link) == [Self.link(0)])
        #expect(trial.log.all.contains { $0.contains("2 links wait for the next run") })

        trial.inbox.open(Self.link(3))
        let second = trial.makeSupervisor()
        let later = try Self.register(Gate(isOpen: true), with: second)
        try second.add(trial.adapter)
        try await second.whileRunning { _ = await trial.settled.first(4) }
        #expect(later.all == ["1", "2", "3"])
        #expect(trial.reported.all.map(\.link) == (0..<4).map(Self.link))
        #expect(trial.reported.all.allSatisfy { $0.outcome == .handled(reply: nil) })
    }

    /// Four links are in flight, two wait in the inbox.
    @Test(arguments: Stop.allCases)
    func stoppingHandlesLinksInFlight(_ stop: Stop) async throws {
        let trial = try Self.trial()
        for number in 0..<6 { trial.inbox.open(Self.link(number)) }
        let gate = Gate()
        let supervisor = trial.makeSupervisor()
        let seen = try Self.register(gate, with: supervisor)
        let intake = ForwardingIntake(intake: try supervisor.intake(for: "links", window: WindowLimits(arrivals: 4)))
        try await supervisor.whileRunning {
            let running = Task { await trial.adapter.run(into: intake) }
            _ = await intake.taken.first(4)
            switch stop {
            case .cancellation: running.cancel()
            case .shutdown: await Self.shutDown(supervisor, intake)
            }
            #expect(trial.inbox.waiting == 2)
            gate.open()
            await running.value
        }
        #expect(seen.all == ["0", "1", "2", "3"])
        #expect(trial.reported.all.map(\.link) == (0..<4).map(Self.link))
        #expect(trial.inbox.waiting == 2)
        #expect(trial.log.all.contains { $0.contains("2 links wait for the next run") })
    }

    /// Returns when the supervisor drains. The window is full, so `room()` cannot return before.
    private static func shutDown(_ supervisor: Supervisor, _ intake: any Intake) async {
        supervisor.shutDown()
        do throws(SourceClosed) {
            try await intake.room()
            #expect(Bool(false), "the window was not full")
        } catch {}
    }

    @Test func theInboxLimitAppliesWhileLinksAreInFlight() async throws {
        let most = AppSchemeAdapter<LinkInbox>.maximumInFlight
        let trial = try Self.trial(inbox: LinkInbox(links: most, bytes: 1_000))
        let gate = Gate()
        let supervisor = trial.makeSupervisor()
        let seen = try Self.register(gate, with: supervisor)
        let intake = ForwardingIntake(intake: try supervisor.intake(for: "links"))
        for number in 0..<most { trial.inbox.open(Self.link(number)) }
        try await supervisor.whileRunning {
            let running = Task { await trial.adapter.run(into: intake) }
            _ = await intake.taken.first(most)
            let opened = (most...most * 2).map { trial.inbox.open(Self.link($0)) }
            #expect(opened == Array(repeating: true, count: most) + [false])
            gate.open()
            _ = await trial.settled.first(most * 2)
            running.cancel()
            await running.value
        }
        #expect(seen.all == (0..<most * 2).map { "\($0)" })
        #expect(intake.taken.all.count == most * 2)
        #expect(trial.log.all.count { $0.contains("1 links were refused") } == 1)
    }

    @Test func aSecondRunOnOneInboxEndsWithAWarning() async throws {
        let trial = try Self.trial()
        let intake = try trial.makeSupervisor().intake(for: "links")
        await withTaskGroup { group in
            for _ in 0..<2 { group.addTask { await trial.adapter.run(into: intake) } }
            await group.next()
            #expect(trial.log.all.map { $0.contains("another run already uses its inbox") } == [true])
            group.cancelAll()
        }
        #expect(trial.log.all.count == 1)
    }

    @Test func theRunOfAClosedInboxEndsWithoutAWarning() async throws {
        let trial = try Self.trial()
        trial.inbox.close()
        await trial.adapter.run(into: try trial.makeSupervisor().intake(for: "links"))
        #expect(trial.log.all.isEmpty)
    }

    @Test func aCancelledRunLeavesItsLinksInTheInbox() async throws {
        let trial = try Self.trial()
        trial.inbox.open(Self.link(0))
        let intake = try trial.makeSupervisor().intake(for: "links")
        let running = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await trial.adapter.run(into: intake)
        }
        await running.value
        #expect(trial.inbox.waiting == 1)
        #expect(trial.reported.all.isEmpty)
    }

    @Test func eachLinkIsReportedOnceWithItsOutcome() async throws {
        let trial = try Self.trial()
        let links = ["myapp://do/1", "myapp://other/1", "nonsense", "myapp://do/2", "myapp://do/1"]
        let settled = try await trial.deliver(links) { supervisor in
            _ = try Self.register(Gate(isOpen: true), with: supervisor)
        }
        #expect(settled.map(\.original) == links)
        let codes = ["handled", "unknownAction", "malformed", "handled", "handled"]
        #expect(settled.map(\.outcome.code) == codes)
        let reported = Dictionary(grouping: trial.reported.all, by: \.link).mapValues { $0.map(\.outcome.code) }
        let expected = [
            "myapp://do/1": ["handled", "handled"], "myapp://other/1": ["unknownAction"], "nonsense": ["malformed"],
            "myapp://do/2": ["handled"],
        ]
        #expect(reported == expected)
    }

    @Test func streamLinksAreDeliveredUntilTheStreamEnds() async throws {
        let reported = EventList<String>()
        let (links, feed) = AsyncStream.makeStream(of: String.self)
        let adapter = AppSchemeAdapter(
            source: "links",
            routes: try AppRoutes("myapp://do/{id}", "do"),
            links: links,
            logger: Logger(label: "links") { _ in SwiftLogNoOpLogHandler() },
            onOutcome: { link, outcome in reported.append(contentsOf: ["\(link) \(outcome.code)"]) }
        )
        for number in 0..<3 { feed.yield(Self.link(number)) }
        feed.finish()
        let supervisor = try Self.trial().makeSupervisor()
        let seen = try Self.register(Gate(isOpen: true), with: supervisor)
        try supervisor.add(adapter)
        // The run ends by itself, because its only source does.
        try await supervisor.run()
        #expect(seen.all == ["0", "1", "2"])
        #expect(reported.all.sorted() == (0..<3).map { "\(Self.link($0)) handled" })
    }

    @Test func aStreamLinkIsAbandonedWhenTheIntakeCloses() async throws {
        let reported = EventList<String>()
        let (links, feed) = AsyncStream.makeStream(of: String.self)
        let adapter = AppSchemeAdapter(
            source: "links",
            routes: try AppRoutes("myapp://do/{id}", "do"),
            links: links,
            logger: Logger(label: "links") { _ in SwiftLogNoOpLogHandler() },
            onOutcome: { link, outcome in reported.append(contentsOf: ["\(link) \(outcome.code)"]) }
        )
        let gate = Gate()
        let supervisor = try Self.trial().makeSupervisor()
        _ = try Self.register(gate, with: supervisor)
        try supervisor.add(adapter, window: WindowLimits(arrivals: 1))
        try await supervisor.whileRunning {
            for number in 0..<2 { feed.yield(Self.link(number)) }
            await gate.untilArrived(1)
            supervisor.shutDown()
            _ = await reported.first(1)
            gate.open()
        }
        #expect(reported.all == ["\(Self.link(1)) drain", "\(Self.link(0)) handled"])
    }

    /// A stream still delivers its links after its consumer is cancelled.
    @Test func aCancelledRunStopsReadingItsStream() async throws {
        let reported = EventList<String>()
        let (links, feed) = AsyncStream.makeStream(of: String.self)
        let adapter = AppSchemeAdapter(
            source: "links",
            routes: try AppRoutes("myapp://do/{id}", "do"),
            links: links,
            logger: Logger(label: "links") { _ in SwiftLogNoOpLogHandler() },
            onOutcome: { link, _ in reported.append(contentsOf: [link]) }
        )
        let gate = Gate()
        let supervisor = try Self.trial().makeSupervisor()
        let seen = try Self.register(gate, with: supervisor)
        let intake = ForwardingIntake(intake: try supervisor.intake(for: "links"))
        for number in 0..<6 { feed.yield(Self.link(number)) }
        try await supervisor.whileRunning {
            let running = Task { await adapter.run(into: intake) }
            _ = await intake.taken.first(4)
            running.cancel()
            gate.open()
            await running.value
        }
        #expect(seen.all == ["0", "1", "2", "3"])
        #expect(reported.all == (0..<4).map(Self.link))
    }

    @Test func aLinkOverTheMessageLimitIsRejected() async throws {
        let trial = try Self.trial(limits: MessageLimits(bytes: 100))
        let base = "myapp://do/"
        let fits = base + String(repeating: "i", count: 100 - base.utf8.count)
        let settled = try await trial.deliver([fits, fits + "i"])
        #expect(settled[0].action?.name == "do")
        #expect(settled[1].rejection?.bodyError?.code == .tooLarge)
        #expect(settled[1].original == fits + "i")
    }

    @Test func aLinkOverTheMaximumURLLengthIsRejected() async throws {
        let trial = try Self.trial(limits: MessageLimits(bytes: 1 << 20))
        let link = "myapp://do/" + String(repeating: "i", count: 100_000)
        let settled = try await trial.deliver(link)
        #expect(settled.rejection?.reason == .malformed)
        #expect(settled.original == link)
    }

    @Test func aHugeLinkIsTruncatedInItsDeadLetter() async throws {
        let trial = try Self.trial()
        let link = "myapp://do/" + String(repeating: "i", count: 1 << 20)
        let settled = try await trial.deliver(link)
        #expect(settled.rejection?.bodyError?.code == .tooLarge)
        #expect(settled.original.utf8.count == 256 * 1_024)
        #expect(link.hasPrefix(settled.original))
        #expect(trial.reported.all.map(\.link) == [link])
    }
}
