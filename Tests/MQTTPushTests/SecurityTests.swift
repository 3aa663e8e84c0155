import BrokerKit
import Foundation
import Logging
import MQTTPush
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

/// TLS connections, and the errors when one fails.
@Suite(.timeLimit(.minutes(10)))
struct SecurityTests {
    /// Runs `body` with an authority whose files are removed afterwards.
    private func withAuthority(
        serverDays: Int = 2,
        _ body: (TestAuthority) async throws -> Void
    ) async throws {
        let authority = try await TestAuthority(serverDays: serverDays)
        defer { authority.remove() }
        try await body(authority)
    }

    private func options(_ security: BrokerSecurity) -> BrokerOptions {
        var options = BrokerOptions()
        options.security = security
        return options
    }

    private func configuration(
        _ broker: Broker,
        _ security: MQTTSecurity,
        host: String = "localhost"
    ) throws -> MQTTPushConfiguration {
        try .secure(broker, security, host: host)
    }

    /// Checks that messages arrive, and that their facts report whether TLS protects them from changes.
    private func receives(
        _ broker: Broker,
        _ security: MQTTSecurity,
        host: String = "localhost",
        isVerified: Bool = true,
        _ change: (inout MQTTPushConfiguration) -> Void = { _ in },
        _ check: (PushTrial) -> Void = { _ in }
    ) async throws {
        var configuration = try configuration(broker, security, host: host)
        change(&configuration)
        try await PushTrial.run(configuration) { trial in
            // One message is longer than a TLS record.
            let long = String(repeating: "x", count: 40_000)
            try await broker.publish(#"{"action":"log","id":"1","body":"\#(long)"}"#, to: "push/log")
            try await broker.publish(lines: (2...100).map { #"{"id":"\#($0)","n":1}"# }, to: "push/log")
            let arrivals = await trial.arrivals(100)
            #expect(arrivals.allSatisfy { $0.pushFacts?.tls == isVerified })
            check(trial)
        }
    }

    /// Returns the error of a run whose first connection must succeed. Also checks that the source takes a slow wait if
    /// only a person can fix the fault.
    private func refusal(
        _ broker: Broker,
        _ security: MQTTSecurity,
        host: String = "localhost",
        isSlow: Bool = true
    ) async throws -> MQTTPushError {
        var configuration = try configuration(broker, security, host: host)
        configuration.reconnect = .distinguishable
        try await PushTrial.run(configuration, subscribed: false) { trial in
            let line = await trial.waitForLog(isSlow ? "retrying in 3000.0 s" : "retrying in ")
            #expect(line.contains("retrying in 3000.0 s") == isSlow, "\(line)")
        }
        configuration.firstConnectionMustSucceed = true
        let adapter = try MQTTPushAdapter(
            configuration,
            logger: Logger(label: "push") { _ in SwiftLogNoOpLogHandler() }
        )
        var error: MQTTPushError
        var attempts = 0
        // If the broker closes while the client writes, the broker's alert about the certificate is sometimes lost.
        repeat {
            error = try await #require(throws: MQTTPushError.self) { try await adapter.run(into: RecordingIntake()) }
            attempts += 1
        } while error.code == .notConnected && attempts < 10
        return error
    }

    @Test(arguments: MQTTVersion.allCases)
    func aConfiguredAuthorityIsTrusted(version: MQTTVersion) async throws {
        try await withAuthority { authority in
            try await Broker.with(options(.tls(authority))) { broker in
                try await receives(broker, .tls(.authority(file: authority.authorityFile))) { $0.version = version }
            }
        }
    }

    @Test func anotherAuthorityIsNotTrusted() async throws {
        try await withAuthority { authority in
            try await withAuthority { other in
                try await Broker.with(options(.tls(authority))) { broker in
                    let error = try await refusal(broker, .tls(.authority(file: other.authorityFile)))
                    #expect(error.code == .untrustedCertificate)
                    #expect(error.detail.contains("no trusted authority has signed"))
                    let system = try await refusal(broker, .tls())
                    #expect(system.code == .untrustedCertificate)
                }
            }
        }
    }

    @Test func aCertificateForAnotherHostIsNotTrusted() async throws {
        try await withAuthority { authority in
            try await Broker.with(options(.tls(authority))) { broker in
                let trust = MQTTSecurity.tls(.authority(file: authority.authorityFile))
                let error = try await refusal(broker, trust, host: "127.0.0.1")
                #expect(error.code == .wrongHost && error.detail.contains("for another host"))
            }
        }
    }

    @Test func anExpiredCertificateIsNotTrusted() async throws {
        try await withAuthority(serverDays: -1) { authority in
            try await Broker.with(options(.tls(authority))) { broker in
                let error = try await refusal(broker, .tls(.authority(file: authority.authorityFile)))
                #expect(error.code == .expiredCertificate && error.detail.contains("this machine's clock"))
            }
        }
    }

    @Test func insecureTrustsAnyCertificateAndLogsAWarning() async throws {
        try await withAuthority(serverDays: -1) { authority in
            try await Broker.with(options(.tls(authority))) { broker in
                try await receives(broker, .tls(.insecure), host: "127.0.0.1", isVerified: false) { _ in
                } _: { trial in
                    let line = trial.log.all.first { $0.contains("is not verified") }
                    #expect(line?.hasPrefix("warning push: the certificate of broker 127.0.0.1:") == true)
                }
            }
        }
    }

    @Test func aClientCertificateIsPresented() async throws {
        try await withAuthority { authority in
            try await authority.makeClientFiles("kiosk")
            var options = options(.mutual(authority))
            // The broker uses the certificate's common name as the user name.
            options.access = ["user kiosk", "topic read push/#"]
            try await Broker.with(options) { broker in
                try await receives(broker, authority.security(client: "kiosk"))
            }
        }
    }

    @Test func aRequestForAClientCertificateIsReported() async throws {
        try await withAuthority { authority in
            try await Broker.with(options(.mutual(authority))) { broker in
                let error = try await refusal(broker, .tls(.authority(file: authority.authorityFile)))
                #expect(error.code == .certificateRefused && error.detail.contains("requests a client certificate"))
            }
        }
    }

    @Test func aRefusedClientCertificateIsReported() async throws {
        try await withAuthority { authority in
            try await withAuthority { other in
                try await other.makeClientFiles("stranger")
                let stranger = MQTTIdentity(
                    certificateFile: other.path("stranger.pem"),
                    keyFile: other.path("stranger.key")
                )
                try await Broker.with(options(.mutual(authority))) { broker in
                    let security = MQTTSecurity.tls(.authority(file: authority.authorityFile), identity: stranger)
                    let error = try await refusal(broker, security)
                    #expect(error.code == .certificateRefused)
                    #expect(error.detail.contains("refused the client certificate"))
                }
            }
        }
    }

    /// A restarting broker does this; the break does not discredit the certificate.
    @Test func aConnectionThatBreaksBetweenHandshakeAndConnackIsRetriedSoon() async throws {
        try await withAuthority { authority in
            try await authority.makeClientFiles("kiosk")
            try await Broker.with(options(.mutual(authority))) { broker in
                let relay = try Relay()
                defer { relay.close() }
                relay.forward(to: UInt16(broker.port))
                relay.withholdAnswers(afterRecords: 1)
                var configuration = try configuration(broker, authority.security(client: "kiosk"))
                configuration.broker = try MQTTBroker(host: "localhost", port: Int(relay.port), usesTLS: true)
                configuration.reconnect = .distinguishable
                configuration.answerTimeout = .seconds(300)
                try await PushTrial.run(configuration, subscribed: false) { trial in
                    try await relay.breakHandshaken()
                    let line = await trial.waitForLog("retrying in ")
                    #expect(line.contains(" lost (") && line.contains("check that the broker trusts it"), "\(line)")
                    #expect(line.hasPrefix("warning ") && !line.contains("3000"), "\(line)")
                    await trial.waitForLog("subscribed to")
                }
            }
        }
    }

    @Test func errorsNameUnusableFiles() async throws {
        try await withAuthority { authority in
            try await authority.makeClientFiles("kiosk")
            try await authority.makeClientFiles("other")
            func identity(_ certificate: String, _ key: String) -> MQTTSecurity {
                let files = MQTTIdentity(
                    certificateFile: authority.path(certificate),
                    keyFile: authority.path(key)
                )
                return .tls(.authority(file: authority.authorityFile), identity: files)
            }
            let cases: [(MQTTSecurity, String)] = [
                (.tls(.authority(file: authority.path("none.pem"))), "none.pem\" cannot be read, or does not contain"),
                (.tls(.authority(file: authority.keyFile)), "server.key\" cannot be read, or does not contain"),
                (identity("kiosk.key", "kiosk.key"), "does not contain a client certificate"),
                (identity("kiosk.pem", "locked.key"), "does not contain a private key without a passphrase"),
                (identity("kiosk.pem", "kiosk.pem"), "does not contain a private key without a passphrase"),
                (identity("kiosk.pem", "other.key"), "does not match the certificate"),
            ]
            try await Broker.with(options(.tls(authority))) { broker in
                for (security, text) in cases {
                    let error = try await refusal(broker, security)
                    #expect(error.code == .unusableFile && error.detail.contains(text), "\(error)")
                }
            }
        }
    }

    private static let key = "0123456789abcdef0123456789abCANARY".replacing("CANARY", with: "00ff")

    private func file(_ text: String, _ body: (Secret) async throws -> Void) async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("key-\(UUID().uuidString)")
        try Data(text.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        try await body(.file(file.path))
    }

    @Test(arguments: MQTTVersion.allCases)
    func aPreSharedKeyOpensTheConnection(version: MQTTVersion) async throws {
        var options = options(.preSharedKeys(["kiosk": Self.key]))
        options.access = ["user kiosk", "topic read push/#"]
        try await file(Self.key + "\n") { key in
            try await Broker.with(options) { broker in
                try await receives(broker, .preSharedKey(identity: "kiosk", key: key)) { $0.version = version }
            }
        }
    }

    @Test func aWrongKeyOrIdentityIsRefused() async throws {
        try await Broker.with(options(.preSharedKeys(["kiosk": Self.key]))) { broker in
            try await file("00" + Self.key) { other in
                let error = try await refusal(broker, .preSharedKey(identity: "kiosk", key: other))
                #expect(error.code == .preSharedKeyRefused && error.detail.contains("Check its identity and the key"))
                #expect(!error.detail.contains(Self.key))
            }
            try await file(Self.key) { key in
                let error = try await refusal(broker, .preSharedKey(identity: "nobody", key: key))
                #expect(error.code == .preSharedKeyRefused)
            }
            try await file("no hexadecimal digits") { none in
                let error = try await refusal(broker, .preSharedKey(identity: "kiosk", key: none))
                #expect(error.code == .secretUnavailable && !error.detail.contains("no hexadecimal digits"))
            }
        }
    }

    @Test func aShortKeyIsAcceptedIfAllowed() async throws {
        let short = String(Self.key.prefix(30))
        try await Broker.with(options(.preSharedKeys(["kiosk": short]))) { broker in
            try await file(short) { key in
                let error = try await refusal(broker, .preSharedKey(identity: "kiosk", key: key))
                #expect(error.code == .secretUnavailable && error.detail.contains("of 15 bytes"), "\(error)")
                try await receives(broker, .preSharedKey(identity: "kiosk", key: key, allowsShort: true))
            }
        }
    }

    @Test func aCertificateDoesNotReplaceThePreSharedKey() async throws {
        try await withAuthority { authority in
            try await Broker.with(options(.tls(authority))) { broker in
                try await file(Self.key) { key in
                    let security = MQTTSecurity.preSharedKey(identity: "kiosk", key: key)
                    let error = try await refusal(broker, security)
                    #expect(error.code == .preSharedKeyRefused)
                }
            }
        }
    }

    @Test func aBrokerWithoutTLSIsRetriedSoon() async throws {
        try await Broker.with { broker in
            let error = try await refusal(broker, .tls(.insecure), isSlow: false)
            #expect(error.code == .tlsFailed && error.detail.contains("Check that it speaks TLS on this port"))
        }
    }
}

extension MQTTReconnect {
    /// Waits that can be distinguished in log lines.
    static let distinguishable = MQTTReconnect(
        first: .seconds(1),
        cap: .seconds(1),
        slow: .seconds(3_000) ... .seconds(3_000)
    )
}

extension Relay {
    /// Breaks the connections whose answers the relay withholds, once there is one, and forwards later connections.
    func breakHandshaken() async throws {
        try await untilAnswerIsWithheld()
        letAnswersThrough()
        cut()
        mend()
    }
}

extension MQTTPushConfiguration {
    /// Returns the configuration of a source with a session on a broker with TLS.
    static func secure(
        _ broker: Broker,
        _ security: MQTTSecurity,
        host: String = "localhost"
    ) throws -> MQTTPushConfiguration {
        var configuration = try test(broker, [try MQTTTopic("push/{action}")])
        configuration.broker = try MQTTBroker(host: host, port: broker.port, usesTLS: true)
        configuration.security = security
        return configuration
    }
}

extension TestAuthority {
    /// Returns TLS settings that trust this authority and present the certificate of one of its clients.
    func security(client: String) -> MQTTSecurity {
        .tls(
            .authority(file: authorityFile),
            identity: MQTTIdentity(certificateFile: path("\(client).pem"), keyFile: path("\(client).key"))
        )
    }
}
