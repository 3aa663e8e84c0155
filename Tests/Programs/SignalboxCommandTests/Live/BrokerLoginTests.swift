import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// The ways to log in, of every command that speaks to a broker, and what each failure comes to.
@Suite(.timeLimit(.minutes(10))) struct BrokerLoginTests {
    /// A broker whose one listener speaks TLS with certificates that the test made.
    private static func withTLS(
        _ lines: [String] = [],
        _ body: (_ broker: Broker, _ url: String, _ file: (String) -> String) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            try await TestCertificates.make(in: folder)
            let file = { (name: String) in folder.appendingPathComponent(name).path }
            let keys = [
                "cafile \(file("ca.pem"))", "certfile \(file("server.pem"))", "keyfile \(file("server.key"))",
            ]
            try await Broker.with(BrokerOptions(lines: keys + lines)) { broker in
                try await body(broker, "mqtts://localhost:\(broker.port)", file)
            }
        }
    }

    private static func publish(_ url: String, _ login: String..., environment: [String: String] = [:]) async throws
        -> CommandProcess.Finished
    {
        try await CommandProcess.run(
            ["publish", url, "-t", "a", "--payload", "b"] + login,
            environment: environment
        )
    }

    @Test func aCertificateOfOnesOwnAuthorityIsTrusted() async throws {
        try await Self.withTLS { _, url, file in
            let (published, seen) = try await BrokerTrial.roundTrip(url, ["--tls-ca", file("ca.pem")])
            #expect(published.status == 0 && published.errors.isEmpty, "\(published)")
            #expect(seen.output == ["hello"] && seen.errors.isEmpty, "\(seen)")
        }
    }

    @Test func aCertificateThatIsNotTrustedIsToldBySeveralCommandsAlike() async throws {
        try await Self.withTLS { broker, url, file in
            let other = "mqtts://127.0.0.1:\(broker.port)"
            for arguments in [
                ["publish", url, "--payload", "b"], ["request", url, "--payload", "b"], ["subscribe", url],
                ["publish", other, "--payload", "b", "--tls-ca", file("ca.pem")],
                ["subscribe", other, "--tls-ca", file("ca.pem")],
                ["subscribe", url, "--tls-ca", "/nowhere/ca.pem"],
            ] {
                let finished = try await CommandProcess.run(arguments + ["-t", "a"])
                #expect(finished.status == CommandStatus.notSecured.rawValue, "\(arguments): \(finished)")
                #expect(finished.output.isEmpty && !finished.errors.isEmpty)
            }
        }
    }

    @Test func noCertificateIsCheckedWhereThatIsAskedForLoudly() async throws {
        try await Self.withTLS { broker, _, _ in
            let (published, seen) = try await BrokerTrial.roundTrip("mqtts://127.0.0.1:\(broker.port)", ["--insecure"])
            for finished in [published, seen] {
                #expect(finished.status == 0, "\(finished)")
                #expect(finished.errors.first?.contains("--insecure: no certificate is checked") == true, "\(finished)")
            }
        }
    }

    @Test func aClientsCertificateIsAsked() async throws {
        try await Self.withTLS(["require_certificate true"]) { _, url, file in
            let trust = ["--tls-ca", file("ca.pem")]
            let identity = trust + ["--cert", file("server.pem"), "--key", file("server.key")]
            let (published, seen) = try await BrokerTrial.roundTrip(url, identity)
            #expect(published.status == 0 && seen.output == ["hello"], "\(published) \(seen)")
            for command in [["publish", "--payload", "b"], ["subscribe"]] {
                let none = try await CommandProcess.run([command[0], url, "-t", "a"] + command.dropFirst() + trust)
                #expect(none.status == CommandStatus.refused.rawValue, "\(none)")
            }
        }
    }

    /// A broker that knows the identity `me` by this key.
    private static func withSharedKey(_ key: String, _ body: (_ url: String) async throws -> Void) async throws {
        try await TemporaryFolder.with { folder in
            let keys = folder.appendingPathComponent("keys")
            try "me:\(key)\n".write(to: keys, atomically: true, encoding: .utf8)
            let lines = ["psk_hint test", "psk_file \(keys.path)"]
            try await Broker.with(BrokerOptions(lines: lines)) { broker in
                try await body("mqtts://localhost:\(broker.port)")
            }
        }
    }

    @Test func aSharedKeyTakesThePlaceOfCertificates() async throws {
        let key = "0123456789abcdef0123456789abcdef"
        try await Self.withSharedKey(key) { url in
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

    @Test func aShortSharedKeyIsRefusedUnlessItIsAllowed() async throws {
        let key = "0123456789abcdef0123456789abcd"
        try await Self.withSharedKey(key) { url in
            let login = ["--psk-identity", "me", "--psk-env", "KEY"]
            let refused = try await BrokerTrial.roundTrip(url, login, environment: ["KEY": key])
            for finished in [refused.published, refused.seen] {
                #expect(finished.status == CommandStatus.unavailable.rawValue, "\(finished)")
                let told = finished.errors.joined()
                #expect(told.contains("a pre-shared key of 15 bytes") && told.contains("allow short keys"), "\(told)")
                #expect(!told.contains(key))
            }
            let allowing = login + ["--psk-allow-short"]
            let (published, seen) = try await BrokerTrial.roundTrip(url, allowing, environment: ["KEY": key])
            #expect(published.status == 0 && seen.output == ["hello"], "\(published) \(seen)")
        }
    }

    @Test func aWrongPasswordIsARefusal() async throws {
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
