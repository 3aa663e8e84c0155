import BrokerKit
import Foundation
import Testing

/// Each error of the command ends with the code that docs/operations explains.
@Suite(.timeLimit(.minutes(5))) struct ErrorCodeTests {
    /// Runs a command and returns the lines of stderr.
    private func errors(of arguments: [String], in folder: URL) async throws -> [String] {
        try await CommandProcess.run(arguments, folder: folder).errors
    }

    private static let plugins = "plugins: [{ action: a, use: log, from: s }]"

    private static let faults = [
        ("plugins: [{ action: a, uze: log, from: internal }]", "[unknownKey]"),
        (
            "store: c.yaml\nsources: { s: { http: { port: 0, anyone: true } } }\n\(plugins)", "[StoreError.damaged]"
        ),
        (
            "sources: { s: { http: { port: 0, principals: { shop: { env: NO_SUCH_VARIABLE } } } } }\n\(plugins)",
            "[missingVariable]"
        ),
    ]

    @Test(arguments: faults) func aFaultOfAConfigurationHasACode(text: String, code: String) async throws {
        try await TemporaryFolder.with { folder in
            try ProcessTrial.write(text, in: folder)
            let errors = try await errors(of: ["run", "c.yaml"], in: folder)
            #expect(errors.contains { $0.hasSuffix(code) }, "\(errors)")
        }
    }

    @Test(arguments: [
        ("http: { port: PORT, anyone: true }", "[HTTPActionError.notListening]"),
        ("chat: { port: PORT, absent_origin: allowed }", "[WebSocketChatError.notListening]"),
    ])
    func aPortInUseHasACode(source: String, code: String) async throws {
        let (socket, port) = try LoopbackPort.listening()
        defer { close(socket) }
        try await TemporaryFolder.with { folder in
            let source = source.replacing("PORT", with: "\(port)")
            try ProcessTrial.write("sources: { s: { \(source) } }\n\(Self.plugins)", in: folder)
            let errors = try await errors(of: ["run", "c.yaml"], in: folder)
            #expect(errors.contains { $0.hasSuffix(code) }, "\(errors)")
        }
    }

    @Test func aBrokerThatIsAwayHasACode() async throws {
        try await TemporaryFolder.with { folder in
            let subscribed = try await errors(of: ["subscribe", "mqtt://127.0.0.1:1", "-t", "a"], in: folder)
            #expect(subscribed.last?.hasSuffix("[MQTTPushError.notConnected]") == true, "\(subscribed)")
            let published = try await errors(of: ["publish", "mqtt://127.0.0.1:1", "-t", "a", "-m", "b"], in: folder)
            #expect(published.last?.hasSuffix("[MQTTPushError.notConnected]") == true, "\(published)")
        }
    }

    @Test func aMessageThatIsNotAnsweredHasACode() async throws {
        try await Broker.with { broker in
            try await TemporaryFolder.with { folder in
                let asked = ["request", broker.url, "-t", "a", "-m", "b", "--timeout", "1s"]
                let errors = try await errors(of: asked, in: folder)
                #expect(errors.last?.hasSuffix("[MQTTPublishError.timeout]") == true, "\(errors)")
            }
        }
    }
}
