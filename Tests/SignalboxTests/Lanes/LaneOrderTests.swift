import Signalbox
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

/// The order of one plugin's calls: by source, by key, or none.
@Suite struct LaneOrderTests {
    struct Order: Codable, Sendable {
        let customer: String
        let number: Int
    }

    // Computed: the leak sanitizer does not recognise the tagged references of rules in global memory.
    private static var anySource: AccessRule { .any([.source("push"), .source("chat")]) }

    private static func orders(_ orders: [(String, Int)]) -> [String] {
        orders.map { message("order", body: #"{"customer":"\#($0.0)","number":\#($0.1)}"#) }
    }

    @Test func twoSourcesOfASerialPluginTakeTurns() async throws {
        let supervisor = Supervisor.make()
        let gate = Gate()
        let called = EventList<String>()
        try supervisor.register(
            Registration("work", as: Int.self, from: Self.anySource) { number, context in
                called.append("\(context.origin.source)\(number)")
                if number == 0 { await gate.pass() }
            }
        )
        let push = try supervisor.intake(for: "push")
        let chat = try supervisor.intake(for: "chat")
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            let many = (0..<5).map { message("work", body: "\($0)") }
            #expect(push.submit(arrivals(many), to: sink) == 5)
            await gate.untilArrived(1)
            let few = (10..<13).map { message("work", body: "\($0)") }
            #expect(chat.submit(arrivals(from: "chat", firstToken: 10, few), to: sink) == 3)
            gate.open()
            await sink.untilSettled(8)
        }
        #expect(
            called.all == ["push0", "chat10", "push1", "chat11", "push2", "chat12", "push3", "push4"]
        )
    }

    @Test func aSourceStaysInOrderWhileOthersRunConcurrently() async throws {
        let supervisor = Supervisor.make()
        let gate = Gate()
        let called = EventList<String>()
        let options = PluginOptions<Int>(maxConcurrent: 2)
        try supervisor.register(
            Registration("work", as: Int.self, from: Self.anySource, options: options) { number, context in
                called.append("\(context.origin.source)\(number)")
                if context.origin.source == "push" { await gate.pass() }
            }
        )
        let push = try supervisor.intake(for: "push")
        let chat = try supervisor.intake(for: "chat")
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            #expect(push.submit(arrivals([message("work", body: "0"), message("work", body: "1")]), to: sink) == 2)
            await gate.untilArrived(1)
            let outcomes = await chat.deliver(arrivals(from: "chat", [message("work", body: "7")]))
            #expect(outcomes == [.handled(reply: nil)])
            #expect(called.all == ["push0", "chat7"])
            gate.open()
            await sink.untilSettled(2)
        }
        #expect(called.all == ["push0", "chat7", "push1"])
    }

    @Test func unorderedCallsRunUpToTheConcurrencyLimit() async throws {
        let supervisor = Supervisor.make()
        let gate = Gate()
        let options = PluginOptions<Int>(order: .none, maxConcurrent: 3)
        try supervisor.register(
            Registration("work", as: Int.self, from: .source("push"), options: options) { _, _ in
                await gate.pass()
            }
        )
        let push = try supervisor.intake(for: "push")
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            #expect(push.submit(arrivals((0..<10).map { message("work", body: "\($0)") }), to: sink) == 10)
            await gate.untilArrived(3)
            #expect(sink.events.isEmpty)
            gate.open()
            await sink.untilSettled(10)
        }
        #expect(supervisor.report.total.handled == 10)
    }

    @Test func equalKeysStayInOrderAndOtherKeysDoNotWait() async throws {
        let supervisor = Supervisor.make()
        let gate = Gate()
        let called = EventList<String>()
        let options = PluginOptions<Order>(order: .key(\.customer), maxConcurrent: 2)
        try supervisor.register(
            Registration("order", as: Order.self, from: Self.anySource, options: options) { order, _ in
                called.append("\(order.customer)\(order.number)")
                if order.customer == "a" { await gate.pass() }
            }
        )
        let push = try supervisor.intake(for: "push")
        let chat = try supervisor.intake(for: "chat")
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            #expect(push.submit(arrivals(Self.orders([("a", 1), ("a", 2), ("b", 1), ("b", 2)])), to: sink) == 4)
            let outcomes = await chat.deliver(arrivals(from: "chat", Self.orders([("c", 1)])))
            #expect(outcomes == [.handled(reply: nil)])
            await sink.untilSettled(2)
            #expect(called.all.filter { $0.hasPrefix("b") } == ["b1", "b2"])
            #expect(called.all.filter { $0.hasPrefix("a") } == ["a1"])
            gate.open()
            await sink.untilSettled(4)
        }
        #expect(called.all.filter { $0.hasPrefix("a") } == ["a1", "a2"])
    }

    @Test func aBodyWithoutItsKeyIsRejected() async throws {
        let supervisor = Supervisor.make()
        let options = PluginOptions<Order>(order: .key(\.customer), maxConcurrent: 2)
        try supervisor.register(
            Registration("order", as: Order.self, from: .source("push"), options: options) { order, _ in
                order.number
            }
        )
        let push = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            let outcomes = await push.deliver(
                arrivals([message("order", body: #"{"number":1}"#)] + Self.orders([("a", 2)]))
            )
            #expect(outcomes.map(reason) == ["invalidBody", "handled"])
            #expect(outcomes.last == .handled(reply: Bytes("2")))
        }
    }

    @Test func eachOfManyKeysIsHandledInOrder() async throws {
        let supervisor = Supervisor.make()
        let called = EventList<Order>()
        let options = PluginOptions<Order>(order: .key(\.customer), maxConcurrent: 4)
        try supervisor.register(
            Registration("order", as: Order.self, from: .source("push"), options: options) { order, _ in
                await Task.yield()
                called.append(order)
            }
        )
        let push = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            for batch in 0..<20 {
                let orders = (0..<100).map { ("\($0 % 17)", batch * 100 + $0) }
                let outcomes = await push.deliver(arrivals(Self.orders(orders)))
                #expect(outcomes.allSatisfy { $0 == .handled(reply: nil) })
            }
        }
        for (_, orders) in Dictionary(grouping: called.all, by: \.customer) {
            #expect(orders.map(\.number) == orders.map(\.number).sorted())
        }
        #expect(called.all.count == 2_000)
    }

    @Test func aStalledKeyIsUnavailableAndOthersContinue() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock) { $0.timeout = .seconds(1) }
        let gate = Gate()
        let options = PluginOptions<Order>(order: .key(\.customer), maxConcurrent: 2)
        try supervisor.register(
            Registration("order", as: Order.self, from: .source("push"), options: options) { order, _ in
                if order.customer == "a" { await gate.pass() }
            }
        )
        let push = try supervisor.intake(for: "push")
        let sink = RecordingSink()
        try await supervisor.whileRunning {
            #expect(push.submit(arrivals(Self.orders([("a", 1), ("a", 2)])), to: sink) == 2)
            await gate.untilArrived(1)
            await clock.tick(12)
            #expect(sink.outcomes[0]?.map(reason) == ["timeout"])
            #expect(sink.outcomes[1]?.map(reason) == ["unavailable"])
            let outcomes = await push.deliver(arrivals(Self.orders([("b", 1), ("a", 3)])))
            #expect(outcomes.map(reason) == ["handled", "unavailable"])
            gate.open()
            await supervisor.untilLateReturns(1)
        }
    }
}

/// Plugins that submit actions themselves and await the outcomes.
@Suite struct ReentrantTests {
    private static func answers(
        _ options: PluginOptions<Int> = PluginOptions(),
        through source: SourceName = "push",
        to action: String = "work"
    ) async throws -> [String] {
        let supervisor = Supervisor.make()
        // Breaks the retain cycle between the plugin and its intake.
        defer { try? supervisor.remove("work") }
        let answers = EventList<String>()
        let push = try supervisor.intake(for: "push")
        let chat = try supervisor.intake(for: "chat")
        let intake = source == "push" ? push : chat
        let both = AccessRule.any([.source("push"), .source("chat")])
        try supervisor.register(
            Registration("work", as: Int.self, from: both, options: options) { number, _ in
                guard number == 0 else { return }
                let outcomes = await intake.deliver(arrivals(from: source, firstToken: 9, [message(action, body: "1")]))
                answers.append(contentsOf: outcomes.map(reason))
            }
        )
        try supervisor.register(Registration("other", as: Int.self, from: both) { _, _ in })
        try await supervisor.whileRunning {
            #expect(await push.deliver(arrivals([message("work", body: "0")])) == [.handled(reply: nil)])
        }
        return answers.all
    }

    @Test func aPluginAwaitingItsOwnSerialLaneIsRefused() async throws {
        #expect(try await Self.answers() == ["reentrant"])
        #expect(try await Self.answers(through: "chat") == ["reentrant"])
    }

    @Test func awaitingAnotherPluginIsAllowed() async throws {
        #expect(try await Self.answers(to: "other") == ["handled"])
    }

    @Test func awaitingAFreeWorkerIsAllowed() async throws {
        #expect(try await Self.answers(PluginOptions(order: .none, maxConcurrent: 2)) == ["handled"])
        #expect(try await Self.answers(PluginOptions(maxConcurrent: 2), through: "chat") == ["handled"])
        #expect(try await Self.answers(PluginOptions(maxConcurrent: 2)) == ["reentrant"])
    }

    @Test func sendingWithoutAwaitingIsAllowed() async throws {
        let supervisor = Supervisor.make()
        defer { try? supervisor.remove("work") }
        let push = try supervisor.intake(for: "push")
        let sink = RecordingSink()
        try supervisor.register(
            Registration("work", as: Int.self, from: .source("push")) { number, _ in
                if number == 0 { _ = push.submit(arrivals(firstToken: 9, [message("work", body: "1")]), to: sink) }
            }
        )
        try await supervisor.whileRunning {
            #expect(await push.deliver(arrivals([message("work", body: "0")])) == [.handled(reply: nil)])
            await sink.untilSettled(1)
        }
        #expect(sink.outcomes[9] == [.handled(reply: nil)])
    }
}
