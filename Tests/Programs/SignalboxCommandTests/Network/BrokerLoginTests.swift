import ArgumentParser
import BrokerKit
import Foundation
import MQTTPush
import SignalboxCore
import Testing

@testable import SignalboxCommand

/// Every form of login, with every command that connects to a broker, and the result of each failure.
@Suite(.timeLimit(.minutes(10))) struct BrokerLoginTests {
    /// Runs `body` with a broker whose only listener speaks TLS with the test's certificates.
    private static func withTLS(
        _ lines: [String] = [],
        _ body: (_ broker: Broker, _ url: String, _ file: (String) -> String) async throws -> Void
    ) async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        let keys = [
            "cafile \(authority.authorityFile)", "certfile \(authority.certificateFile)",
            "keyfile \(authority.keyFile)",
        ]
        try await Broker.with(BrokerOptions(lines: keys + lines)) { broker in
            try await body(broker, "mqtts://localhost:\(broker.port)", authority.path)
        }
    }

    private static func publish(_ url: String, _ login: String..., environment: [String: String] = [:]) async throws
        -> CommandProcess.Finished
    {
        try await CommandProcess.run(
            ["publish", url, "-t", "a", "--body", "b"] + login,
            environment: environment
        )
    }

    @Test func aCertificateOfAGivenAuthorityIsTrusted() async throws {
        try await Self.withTLS { _, url, file in
            let (published, seen) = try await BrokerTrial.roundTrip(url, ["--ca", file("ca.pem")])
            #expect(published.status == 0 && published.errors.isEmpty, "\(published)")
            #expect(seen.output == ["hello"] && seen.errors.isEmpty, "\(seen)")
        }
    }

    @Test func allCommandsReportAnUntrustedCertificateAlike() async throws {
        try await Self.withTLS { broker, url, file in
            let other = "mqtts://127.0.0.1:\(broker.port)"
            for arguments in [
                ["publish", url, "--body", "b"], ["request", url, "--body", "b"], ["subscribe", url],
                ["publish", other, "--body", "b", "--ca", file("ca.pem")],
                ["subscribe", other, "--ca", file("ca.pem")],
                ["subscribe", url, "--ca", file("server.key")],
            ] {
                let finished = try await CommandProcess.run(arguments + ["-t", "a"])
                #expect(finished.status == CommandStatus.notSecured.rawValue, "\(arguments): \(finished)")
                #expect(finished.output.isEmpty && !finished.errors.isEmpty)
            }
        }
    }

    @Test func insecureDisablesCertificateChecksWithAWarning() async throws {
        try await Self.withTLS { broker, _, _ in
            let (published, seen) = try await BrokerTrial.roundTrip("mqtts://127.0.0.1:\(broker.port)", ["--insecure"])
            for finished in [published, seen] {
                #expect(finished.status == 0, "\(finished)")
                let text = "is not verified: anyone on the network path can read and change all traffic"
                #expect(finished.errors.count == 1 && finished.errors.first?.contains(text) == true, "\(finished)")
            }
        }
    }

    @Test func aRequiredClientCertificateIsSent() async throws {
        try await Self.withTLS(["require_certificate true"]) { _, url, file in
            let trust = ["--ca", file("ca.pem")]
            let identity = trust + ["--cert", file("server.pem"), "--key", file("server.key")]
            let (published, seen) = try await BrokerTrial.roundTrip(url, identity)
            #expect(published.status == 0 && seen.output == ["hello"], "\(published) \(seen)")
            for command in [["publish", "--body", "b"], ["subscribe"]] {
                let none = try await CommandProcess.run([command[0], url, "-t", "a"] + command.dropFirst() + trust)
                #expect(none.status == CommandStatus.refused.rawValue, "\(none)")
            }
        }
    }

    /// Runs `body` with a broker that accepts the identity `me` with this key.
    private static func withPreSharedKey(_ key: String, _ body: (_ url: String) async throws -> Void) async throws {
        try await TemporaryFolder.with { folder in
            let keys = folder.appendingPathComponent("keys")
            try "me:\(key)\n".write(to: keys, atomically: true, encoding: .utf8)
            let lines = ["psk_hint test", "psk_file \(keys.path)"]
            try await Broker.with(BrokerOptions(lines: lines)) { broker in
                try await body("mqtts://localhost:\(broker.port)")
            }
        }
    }

    @Test func aPreSharedKeyReplacesCertificates() async throws {
        let key = "0123456789abcdef0123456789abcdef"
        try await Self.withPreSharedKey(key) { url in
            let login = ["--psk-identity", "me", "--psk-env", "KEY"]
            let (published, seen) = try await BrokerTrial.roundTrip(url, login, environment: ["KEY": key])
            #expect(published.status == 0 && seen.output == ["hello"], "\(published) \(seen)")
            let wrong = ["KEY": "11111111111111111111111111111111"]
            let refused = try await BrokerTrial.roundTrip(url, login, environment: wrong)
            for finished in [refused.published, refused.seen] {
                #expect(finished.status == CommandStatus.refused.rawValue, "\(finished)")
                #expect(!finished.errors.joined().contains("1111"))
            }
        }
    }

    @Test func aShortPreSharedKeyIsRefusedUnlessAllowed() async throws {
        let key = "0123456789abcdef0123456789abcd"
        try await Self.withPreSharedKey(key) { url in
            let login = ["--psk-identity", "me", "--psk-env", "KEY"]
            let refused = try await BrokerTrial.roundTrip(url, login, environment: ["KEY": key])
            for finished in [refused.published, refused.seen] {
                #expect(finished.status == CommandStatus.unavailable.rawValue, "\(finished)")
                let reported = finished.errors.joined()
                #expect(
                    reported.contains("a pre-shared key of 15 bytes") && reported.contains("or add --psk-allow-short"),
                    "\(reported)"
                )
                #expect(!reported.contains(key))
            }
            let allowing = login + ["--psk-allow-short"]
            let (published, seen) = try await BrokerTrial.roundTrip(url, allowing, environment: ["KEY": key])
            #expect(published.status == 0 && seen.output == ["hello"], "\(published) \(seen)")
        }
    }

    @Test func aWrongPasswordIsRefused() async throws {
        try await Broker.with(BrokerOptions(users: ["u": "right"])) { broker in
            let login = ["--user", "u", "--password-env", "P"]
            let good = try await BrokerTrial.roundTrip(broker.url, login, environment: ["P": "right"])
            #expect(good.published.status == 0 && good.seen.output == ["hello"], "\(good)")
            for version in [[], ["--v311"]] {
                let bad = try await BrokerTrial.roundTrip(
                    broker.url,
                    login + version,
                    environment: ["P": "canary-4711"]
                )
                for finished in [bad.published, bad.seen] {
                    #expect(finished.status == CommandStatus.refused.rawValue, "\(finished)")
                    #expect(!finished.errors.joined().contains("canary-4711"))
                }
            }
        }
    }
}

@Suite struct BrokerArgumentsTests {
    private static func source(_ url: String, _ arguments: String...) throws -> MQTTPushConfiguration {
        try BrokerArguments.parse([url] + arguments).source("s", topics: [])
    }

    private static func publisher(_ url: String, _ arguments: String...) throws -> MQTTPublisherConfiguration {
        try BrokerArguments.parse([url] + arguments).publisher("s")
    }

    @Test func theDefaultIsMQTT5WithoutALogin() throws {
        let source = try Self.source("mqtt://h")
        #expect(source.version == .v5 && source.security == .none && source.username == nil && source.password == nil)
        #expect(source.firstConnectionMustSucceed)
        #expect(source.broker.port == 1_883)
    }

    @Test func everySettingIsApplied() throws {
        let arguments = [
            "mqtts://h", "--user", "u", "--password-file", "p", "--ca", "ca", "--cert", "c", "--key", "k",
            "--v311", "--retry",
        ]
        let source = try BrokerArguments.parse(arguments).source("s", topics: [])
        #expect(source.version == .v311 && !source.firstConnectionMustSucceed)
        let identity = MQTTIdentity(certificateFile: "c", keyFile: "k")
        #expect(source.security == .tls(.authority(file: "ca"), identity: identity))
        #expect(source.username == .text("u") && source.password == .file("p"))
        #expect(source.broker.usesTLS && source.broker.port == 8_883)
        let publisher = try BrokerArguments.parse(arguments).publisher("s")
        #expect(publisher.version == .v311 && !publisher.firstConnectionMustSucceed)
        #expect(publisher.security == source.security && publisher.broker == source.broker)
        #expect(publisher.username == source.username && publisher.password == source.password)
        #expect(try Self.source("mqtts://h").security == .tls(.system))
        #expect(try Self.source("mqtts://h", "--insecure").security == .tls(.insecure))
        #expect(try Self.source("mqtts://h", "--ca", "ca").security == .tls(.authority(file: "ca")))
        let key = try Self.source("mqtts://h", "--psk-identity", "me", "--psk-env", "KEY")
        #expect(key.security == .preSharedKey(identity: "me", key: .environment("KEY"), allowsShort: false))
        let short = try Self.publisher("mqtts://h", "--psk-identity", "me", "--psk-env", "KEY", "--psk-allow-short")
        #expect(short.security == .preSharedKey(identity: "me", key: .environment("KEY"), allowsShort: true))
    }

    @Test(arguments: [
        ["mqtt://h", "--ca", "a"], ["mqtt://h", "--insecure"], ["mqtt://h", "--cert", "a", "--key", "b"],
        ["mqtt://h", "--psk-identity", "a", "--psk-file", "b"], ["mqtts://h", "--ca", "a", "--insecure"],
        ["mqtts://h", "--cert", "a"], ["mqtts://h", "--key", "a"], ["mqtts://h", "--psk-identity", "a"],
        ["mqtts://h", "--psk-file", "a"], ["mqtts://h", "--psk-identity", "a", "--psk-file", "b", "--psk-env", "C"],
        ["mqtts://h", "--psk-identity", "a", "--psk-file", "b", "--ca", "c"],
        ["mqtt://h", "--psk-allow-short"], ["mqtts://h", "--psk-allow-short"],
        ["mqtts://h", "--psk-identity", "a", "--psk-allow-short"], ["mqtts://h", "--psk-allow-short", "--insecure"],
        ["mqtt://h", "--password-env", "P"],
        ["mqtt://h", "--user", "u", "--password-env", "P", "--password-file", "p"],
        ["http://h"], ["mqtt://u:p@h"],
    ])
    func conflictingOptionsAreRefused(_ words: [String]) {
        #expect {
            try BrokerArguments.parse(words).source("s", topics: [])
        } throws: {
            BrokerArguments.exitCode(for: $0) == .validationFailure || $0 is ValidationError
        }
    }

    @Test(arguments: [
        (MQTTQoS?.some(.atMostOnce), "0"), (.some(.atLeastOnce), "1"), (.none, "2"), (.none, "-1"), (.none, "x"),
    ])
    func aQoSIsZeroOrOne(_ qos: MQTTQoS?, _ text: String) {
        #expect((try? MQTTQoS.option(text)) == qos)
    }
}

/// Sessions that the broker keeps, the client's id and its will.
@Suite(.timeLimit(.minutes(10))) struct KeptSessionTests {
    private static func subscribe(_ broker: Broker, _ topic: String, _ arguments: [String]) async throws
        -> CommandProcess.Finished
    {
        try await CommandProcess.run(
            ["subscribe", broker.url, "-t", topic, "--id", "worker", "--keep-session", "--raw", "-W", "60"] + arguments
        )
    }

    /// Starts the session, which then waits at the broker.
    private static func begin(_ broker: Broker, _ topic: String, _ arguments: [String] = []) async throws {
        let options = ["-t", topic, "--id", "worker", "--keep-session"] + arguments
        let process = try CommandProcess(["subscribe", broker.url, "--log-level", "info"] + options)
        #expect(await process.errors.line(with: "subscribed to") != nil)
        process.signal(SIGTERM)
        await process.ends()
    }

    /// A message after the last counted one must not be acknowledged.
    @Test(arguments: [[], ["--v311"]]) func countedMessagesLeaveTheOthersAtTheBroker(_ version: [String]) async throws {
        try await Broker.with { broker in
            try await KeptSessionTests.begin(broker, "x", version)
            try await broker.publish(lines: ["1", "2", "3", "4", "5"], to: "x")
            for expected in [["1", "2"], ["3", "4"], ["5"]] {
                let count = ["--count", "\(expected.count)"]
                let finished = try await KeptSessionTests.subscribe(broker, "x", count + version)
                #expect(finished.status == 0, "\(finished)")
                #expect(finished.output == expected, "\(finished)")
            }
        }
    }

    @Test func messagesOfTheSessionsOtherSubscriptionsAreShown() async throws {
        try await Broker.with { broker in
            try await KeptSessionTests.begin(broker, "x", ["--session-expiry", "5m"])
            try await broker.publish("waited", to: "x")
            let finished = try await KeptSessionTests.subscribe(broker, "y", ["--count", "1"])
            #expect(finished.output == ["waited"], "\(finished)")
        }
    }

    @Test func theBrokerKnowsTheIdAndTheKeepalive() async throws {
        try await Broker.with { broker in
            let published = try await CommandProcess.run(
                ["publish", broker.url, "-t", "x", "-m", "1", "-i", "meter-7", "--keepalive", "77s"]
            )
            #expect(published.status == 0, "\(published)")
            let connected = broker.log.split(separator: "\n").filter { $0.contains("New client connected") }
            #expect(connected.contains { $0.contains("as meter-7") && $0.contains("k77") }, "\(connected)")
        }
    }

    @Test(arguments: [
        (["--keep-session"], "add --id"), (["--session-expiry", "1m"], "add --keep-session"),
        (["--id", "a", "--keep-session", "--session-expiry", "1m", "--v311"], "remove --session-expiry or --v311"),
        (["--keepalive", "1s"], "keepalive must be"), (["--id", ""], "--id: a client id must have"),
    ])
    func wrongCombinationsAreRefused(_ arguments: [String], _ advice: String) {
        #expect {
            _ = try SignalboxTool.parseAsRoot(["subscribe", "mqtt://h", "-t", "x"] + arguments)
        } throws: {
            SignalboxTool.message(for: $0).contains(advice)
        }
    }
}
