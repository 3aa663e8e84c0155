import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import Signalbox

/// What sources remember of the registry, so that a message takes no lock that sources share.
@Suite(.timeLimit(.minutes(10))) struct KnownPluginsTests {
    private static func registration(_ action: ActionName) -> Registration {
        Registration(action, as: Empty.self, from: .anySource) { _, _ in }
    }

    private static func names(_ count: Int) throws -> [SourceName] {
        try (0..<count).map { try SourceName("source\($0)") }
    }

    @Test func aSourceAsksTheRegistryOnceForEachPluginAndChange() async throws {
        let supervisor = Supervisor.make()
        for action in ["first", "second"] as [ActionName] { try supervisor.register(Self.registration(action)) }
        let names = try Self.names(4)
        let intakes = try names.map { try supervisor.intake(for: $0) }
        func send() async {
            for number in 0..<200 {
                let action = number % 2 == 0 ? "first" : "second"
                for (intake, name) in zip(intakes, names) {
                    let outcomes = await intake.deliver(arrivals(from: name, [message(action)]))
                    #expect(outcomes == [.handled(reply: nil)])
                }
            }
        }
        try await supervisor.whileRunning {
            let start = supervisor.registry.snapshots
            await send()
            #expect(supervisor.registry.snapshots - start == 4 * 2)
            try supervisor.register(Self.registration("third"))
            await send()
            #expect(supervisor.registry.snapshots - start == 2 * 4 * 2)
        }
    }

    @Test func arrivalsThatNeedAdmissionAskNoMoreOften() async throws {
        let supervisor = Supervisor.make()
        try supervisor.register(Self.registration("work"))
        let intake = try supervisor.intake(for: "push", deduplication: .within(DeduplicationLimits()))
        try await supervisor.whileRunning {
            let start = supervisor.registry.snapshots
            for number in 0..<100 {
                let text = #"{"action":"work","id":"id-\#(number)","body":{}}"#
                #expect(await intake.deliver(arrivals([text])) == [.handled(reply: nil)])
            }
            #expect(supervisor.registry.snapshots - start == 1)
        }
    }

    @Test func aBatchForSeveralPluginsAsksOnce() async throws {
        let supervisor = Supervisor.make()
        for action in ["first", "second"] as [ActionName] { try supervisor.register(Self.registration(action)) }
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            let start = supervisor.registry.snapshots
            let batch = (0..<100).map { message($0 % 2 == 0 ? "first" : "second") }
            let outcomes = await intake.deliver(arrivals(batch))
            #expect(outcomes.allSatisfy { $0 == .handled(reply: nil) } && outcomes.count == 100)
            #expect(supervisor.registry.snapshots - start == 1)
        }
    }

    @Test func aRuleIsCheckedForPluginsThatAreKnown() async throws {
        let supervisor = Supervisor.make()
        let rule = AccessRule("the label is good") { ($0.facts as? TestFacts)?.label == "good" }
        try supervisor.register(Registration("work", as: Empty.self, from: rule) { _, _ in })
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            #expect(await intake.deliver(arrivals(label: "good", [message("work")])) == [.handled(reply: nil)])
            let refused = await intake.deliver(arrivals(label: "bad", [message("work")]))
            #expect(refused.map(reason) == ["sourceNotAllowed"])
        }
    }

    /// A source that sends nothing more must not keep the memory of a plugin that has been removed.
    @Test func aQuietSourceForgetsAPluginThatIsRemoved() async throws {
        final class Resource: Sendable {}
        let supervisor = Supervisor.make()
        var resource: Resource? = Resource()
        weak let weakResource = resource
        try supervisor.register(
            Registration("work", as: Empty.self, from: .anySource) { [resource] _, _ in _ = resource }
        )
        resource = nil
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            #expect(await intake.deliver(arrivals([message("work")])) == [.handled(reply: nil)])
            #expect(weakResource != nil)
            try supervisor.remove("work")
            // The lane's task ends soon. No event reports that it has released the plugin.
            while weakResource != nil { await Task.yield() }
        }
    }
}

extension AccessRule {
    fileprivate static var anySource: AccessRule { AccessRule("any source") { _ in true } }
}
