import BrokerKit
import Testing

@testable import SignalboxCommand

/// What a real broker makes of the options about versions, quality and stored messages.
@Suite(.timeLimit(.minutes(10))) struct BrokerDeliveryTests {
    @Test func whatIsStoredIsIgnoredWhereThatIsAskedFor() async throws {
        try await Broker.with { broker in
            try await broker.publish("old", to: "x", retain: true)
            let ignoring = try await BrokerTrial.subscriber(
                broker.url,
                "-t",
                "x",
                "--retained",
                "ignore",
                "--raw",
                "--count",
                "1"
            )
            try await broker.publish("new", to: "x")
            #expect(await ignoring.output.rest() == ["new"])
            await ignoring.ends()
        }
    }

    @Test func theQualityIsTheLesserOfTwo() async throws {
        try await Broker.with { broker in
            try await broker.publish("a", to: "x", retain: true)
            for quality in ["0", "1"] {
                let seen = try await CommandProcess.run(
                    ["subscribe", broker.url, "-t", "x", "--qos", quality, "--count", "1"]
                )
                #expect(seen.output.first?.contains("\"qos\":\(quality),") == true, "\(seen)")
            }
        }
    }

    @Test(arguments: [([], "p5"), (["--v311"], "p2")]) func aVersionIsChosen(
        _ arguments: [String],
        _ word: String
    ) async throws {
        try await Broker.with { broker in
            let (published, seen) = try await BrokerTrial.roundTrip(broker.url, arguments)
            #expect(published.status == 0 && seen.output == ["hello"], "\(published) \(seen)")
            let connected = broker.log.split(separator: "\n").filter { $0.contains("New client connected") }
            #expect(connected.count == 2 && connected.allSatisfy { $0.contains("(\(word),") }, "\(connected)")
        }
    }
}
