import Signalbox
import SignalboxCore
import SignalboxTesting
import Testing

/// Plugins that send actions themselves and wait for what becomes of them.
@Suite struct ReentrantTests {
    private static func answers(
        _ options: PluginOptions<Int> = PluginOptions(),
        through source: SourceName = "push",
        to action: String = "work"
    ) async throws -> [String] {
        let supervisor = Supervisor.make()
        // The plugin holds an intake, which holds what holds the plugin.
        defer { try? supervisor.remove("work") }
        let answers = EventList<String>()
        let push = try supervisor.intake(for: "push")
        let chat = try supervisor.intake(for: "chat")
        let intake = source == "push" ? push : chat
        let both = AccessRule.any([.source("push"), .source("chat")])
        try supervisor.register("work", as: Int.self, from: both, options: options) { number, _ in
            guard number == 0 else { return }
            let outcomes = await intake.deliver(arrivals(from: source, firstToken: 9, [message(action, body: "1")]))
            answers.append(contentsOf: outcomes.map(reason))
        }
        try supervisor.register("other", as: Int.self, from: both) { _, _ in }
        try await supervisor.whileRunning {
            #expect(await push.deliver(arrivals([message("work", body: "0")])) == [.handled(reply: nil)])
        }
        return answers.all
    }

    @Test func waitingForItsOwnSerialLaneIsRefused() async throws {
        #expect(try await Self.answers() == ["reentrant"])
        #expect(try await Self.answers(through: "chat") == ["reentrant"])
    }

    @Test func waitingForAnotherPluginIsNot() async throws {
        #expect(try await Self.answers(to: "other") == ["handled"])
    }

    @Test func waitingForAFreePlaceIsNot() async throws {
        #expect(try await Self.answers(PluginOptions(order: .none, maxConcurrent: 2)) == ["handled"])
        #expect(try await Self.answers(PluginOptions(maxConcurrent: 2), through: "chat") == ["handled"])
        #expect(try await Self.answers(PluginOptions(maxConcurrent: 2)) == ["reentrant"])
    }

    @Test func sendingWithoutWaitingIsNot() async throws {
        let supervisor = Supervisor.make()
        defer { try? supervisor.remove("work") }
        let push = try supervisor.intake(for: "push")
        let sink = RecordingSink()
        try supervisor.register("work", as: Int.self, from: .source("push")) { number, _ in
            if number == 0 { _ = push.submit(arrivals(firstToken: 9, [message("work", body: "1")]), to: sink) }
        }
        try await supervisor.whileRunning {
            #expect(await push.deliver(arrivals([message("work", body: "0")])) == [.handled(reply: nil)])
            await sink.untilSettled(1)
        }
        #expect(sink.outcomes[9] == [.handled(reply: nil)])
    }
}
