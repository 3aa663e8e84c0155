import BrokerKit
import Foundation
import Synchronization
import Testing

@testable import SignalboxCommand

/// What the options of `subscribe` about messages come to at a real broker.
@Suite(.timeLimit(.minutes(10))) struct SubscribeOptionsTests {
    @Test func aGroupSharesMessages() async throws {
        try await Broker.with { broker in
            let lines = (0..<100).map { "message \($0)" }
            let seen = SeenLines()
            let members = [
                try await BrokerTrial.subscriber(broker.url, "-t", "x", "--share", "g", "--raw"),
                try await BrokerTrial.subscriber(broker.url, "-t", "x", "--share", "g", "--raw"),
            ]
            try await broker.publish(lines: lines, to: "x")
            await withTaskGroup(of: Void.self) { group in
                for member in members {
                    group.addTask {
                        while let line = await member.output.line(with: "message") {
                            // What came twice is among the first hundred.
                            if seen.add(line) >= lines.count { for member in members { member.signal(SIGINT) } }
                        }
                    }
                }
            }
            #expect(seen.lines.sorted() == lines.sorted())
            for member in members { await member.ends() }
        }
    }

    @Test func aRateIsToldOnStderr() async throws {
        try await Broker.with { broker in
            let watch = try await BrokerTrial.subscriber(broker.url, "-t", "x", "--rate", "--raw")
            #expect(await watch.errors.line(with: "signalbox: 0 messages/s, 0 in all") != nil)
            try await broker.publish(lines: ["1", "2", "3"], to: "x")
            #expect(await watch.errors.line(with: "messages/s, 3 in all") != nil)
            watch.signal(SIGINT)
            #expect(await watch.output.rest() == ["1", "2", "3"])
            await watch.ends()
        }
    }
}

/// Lines of several programs.
private final class SeenLines: Sendable {
    private let stored = Mutex<[String]>([])

    var lines: [String] { stored.withLock { $0 } }

    /// - Returns: how many there are now.
    func add(_ line: String) -> Int {
        stored.withLock { stored in
            stored.append(line)
            return stored.count
        }
    }
}
