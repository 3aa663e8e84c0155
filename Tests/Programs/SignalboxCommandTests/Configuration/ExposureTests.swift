import Foundation
import Testing

@testable import SignalboxCommand

/// Warnings about secrets that others can read.
@Suite struct ExposureTests {
    private static func text(_ source: String) -> String {
        "sources: { in: \(source) }\nplugins: [ { action: a, use: log, from: [ { source: in } ] } ]\n"
    }

    private static func mqtt(_ broker: String, _ keys: String = "username: u, password: { env: PASSWORD }") -> String {
        text("{ mqtt: { broker: '\(broker)', client_id: c, topics: [ { pattern: 'x/{action}' } ], \(keys) } }")
    }

    private static func feed(_ url: String, _ keys: String = "bearer: { env: PASSWORD }") -> String {
        text("{ feed: { url: '\(url)', \(keys) } }")
    }

    private static func codes(_ text: String, _ surroundings: Surroundings = ConfigurationFixture.surroundings) throws
        -> [String]
    {
        let configuration = try ConfigurationReader.read(text, file: "c.yaml", surroundings: surroundings)
        let doubts = ConfigurationReader.findings(in: text, surroundings: surroundings).filter(\.code.isExposure)
        #expect(doubts == configuration.exposures)
        return configuration.exposures.map { "\($0.code) \($0.path)" }
    }

    @Test(arguments: ["mqtt://broker.example", "mqtt://192.0.2.1", "mqtt://127.0.0.1.example", "mqtt://127.1.example"])
    func aPasswordInTheClearIsTold(broker: String) throws {
        #expect(try Self.codes(Self.mqtt(broker)) == ["credentialsInClear sources.in.mqtt.password"])
    }

    @Test(arguments: [
        "mqtts://broker.example", "mqtt://localhost", "mqtt://127.0.0.2", "mqtt://[::1]", "mqtt://LOCALHOST",
    ])
    func aPasswordThatNobodyHearsIsNot(broker: String) throws {
        #expect(try Self.codes(Self.mqtt(broker)).isEmpty)
    }

    @Test(
        arguments: [
            ("ws://chat.example/", ["credentialsInClear sources.in.feed.bearer"]), ("wss://chat.example/", []),
            ("ws://127.0.0.1:8080/", []), ("ws://[::1]/", []),
        ] as [(String, [String])]
    )
    func aTokenInTheClearIsTold(url: String, codes: [String]) throws {
        #expect(try Self.codes(Self.feed(url)) == codes)
    }

    @Test(
        arguments: [
            ("mqtt://broker.example", "username: u", ["credentialsInClear sources.in.mqtt.username"]),
            ("mqtt://broker.example", "username: { env: PASSWORD }", ["credentialsInClear sources.in.mqtt.username"]),
            ("mqtt://broker.example", "keepalive: 15s", []), ("mqtts://broker.example", "username: u", []),
            ("mqtt://localhost", "username: u", []),
        ] as [(String, String, [String])]
    )
    func aUserNameAloneInTheClearIsTold(broker: String, keys: String, codes: [String]) throws {
        #expect(try Self.codes(Self.mqtt(broker, keys)) == codes)
    }

    @Test(
        arguments: [
            (
                "ws://chat.example/", "headers: { X-Client: kiosk, X-Token: { env: PASSWORD } }",
                ["credentialsInClear sources.in.feed.headers"]
            ),
            (
                "ws://chat.example/", "bearer: { env: PASSWORD }, headers: { X-Token: { env: PASSWORD } }",
                ["credentialsInClear sources.in.feed.bearer", "credentialsInClear sources.in.feed.headers"]
            ),
            ("ws://chat.example/", "headers: { X-Client: kiosk }", []),
            ("wss://chat.example/", "headers: { X-Token: { env: PASSWORD } }", []),
            ("ws://localhost:8080/", "headers: { X-Token: { env: PASSWORD } }", []),
        ] as [(String, String, [String])]
    )
    func aHeaderInTheClearIsTold(url: String, keys: String, codes: [String]) throws {
        #expect(try Self.codes(Self.feed(url, keys)) == codes)
    }

    /// A certificate is no secret.
    @Test(arguments: [
        ("mqtt", "broker: 'mqtts://broker.example', client_id: c, topics: [ { pattern: 'x/{action}' } ]"),
        ("feed", "url: 'wss://chat.example/'"), ("chat", "port: 0, absent_origin: allowed"),
    ])
    func aKeyOfACertificateThatEverybodyCanReadIsTold(kind: String, keys: String) throws {
        let text = Self.text("{ \(kind): { \(keys), identity: { certificate: c.pem, key: k.pem } } }")
        for isOpen in [false, true] {
            var surroundings = ConfigurationFixture.surroundings
            surroundings.isOpenToOthers = { _ in isOpen }
            let expected = isOpen ? ["readableSecret sources.in.\(kind).identity.key"] : []
            #expect(try Self.codes(text, surroundings) == expected)
        }
    }

    @Test(arguments: [(0o600, false), (0o640, false), (0o604, true), (0o644, true)])
    func aSecretsFileThatEverybodyCanReadIsTold(mode: Int, isTold: Bool) throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("secret-\(UUID().uuidString)")
        try Data("canary-4711\n".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
        let text = Self.feed("wss://chat.example/").replacing("{ env: PASSWORD }", with: "{ file: '\(file.path)' }")
        let found = try Self.codes(text, .process)
        #expect(found == (isTold ? ["readableSecret sources.in.feed.bearer"] : []))
    }
}
