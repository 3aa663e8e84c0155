import AdapterSupport
import BrokerKit
import Foundation
import Logging
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import MQTTPush

@Suite(.timeLimit(.minutes(10)))
struct ConnectingTests {
    private static let canary = "canary-5f0e9d"

    private static func topics() throws -> [MQTTTopic] { [try MQTTTopic("push/{action}/{id}")] }

    private static func file(_ text: String, in folder: URL) throws -> Secret {
        let file = folder.appendingPathComponent("secret-\(UUID().uuidString)")
        try text.write(to: file, atomically: true, encoding: .utf8)
        return .file(file.path)
    }

    @Test func aPasswordFromAFileIsUsedAndNeverLogged() async throws {
        try await Broker.with(BrokerOptions(users: ["alice": Self.canary])) { broker in
            var configuration = try MQTTPushConfiguration.test(broker, try Self.topics())
            configuration.username = try Self.file("alice\n", in: broker.folder)
            configuration.password = try Self.file("\(Self.canary)\n", in: broker.folder)
            try await PushTrial.run(configuration) { trial in
                #expect(!"\(configuration)".contains(Self.canary))
                #expect(!trial.log.all.contains { $0.contains(Self.canary) || $0.contains("alice") })
            }
        }
    }

    @Test func aWrongPasswordIsLoggedWithAdvice() async throws {
        try await Broker.with(BrokerOptions(users: ["alice": "right"])) { broker in
            var configuration = try MQTTPushConfiguration.test(broker, try Self.topics())
            configuration.username = try Self.file("alice", in: broker.folder)
            configuration.password = try Self.file(Self.canary, in: broker.folder)
            try await PushTrial.run(configuration, subscribed: false) { trial in
                let line = await trial.waitForLog("refused the connection")
                #expect(line.hasPrefix("error push: broker 127.0.0.1:\(broker.port) refused the connection: "))
                #expect(line.contains("(135)") || line.contains("(134)"))
                #expect(line.contains("Check username and password"))
                #expect(line.contains("retrying in ") && line.hasSuffix("source=push"))
                #expect(!trial.log.all.contains { $0.contains(Self.canary) })
            }
        }
    }

    @Test func aPasswordIsReadForEachConnection() async throws {
        try await Broker.with(BrokerOptions(users: ["alice": "right"])) { broker in
            let file = broker.folder.appendingPathComponent("password")
            var configuration = try MQTTPushConfiguration.test(broker, try Self.topics())
            configuration.username = try Self.file("alice", in: broker.folder)
            configuration.password = .file(file.path)
            try await PushTrial.run(configuration, subscribed: false) { trial in
                let line = await trial.waitForLog("cannot be read")
                #expect(line.hasPrefix("error ") && line.contains("file \(file.path) cannot be read"))
                try "right".write(to: file, atomically: true, encoding: .utf8)
                await trial.waitForLog("subscribed to")
            }
        }
    }

    @Test func aStopInterruptsTheReconnectWait() async throws {
        var configuration = try MQTTPushConfiguration.test(port: 1, try Self.topics())
        configuration.reconnect = MQTTReconnect(first: .seconds(3_600), cap: .seconds(3_600))
        try await PushTrial.run(configuration, subscribed: false) { trial in
            let line = await trial.waitForLog("cannot reach ")
            #expect(line.hasPrefix("warning push: cannot reach broker 127.0.0.1:1: "))
        }
    }

    @Test func aFailedRequiredFirstConnectionThrowsTheReason() async throws {
        let broker = try FakeBroker([[[0x20, 0x03, 0x00, 0x86, 0x00]]])
        defer { broker.close() }
        var configuration = try MQTTPushConfiguration.test(port: broker.port, try Self.topics())
        configuration.firstConnectionMustSucceed = true
        let adapter = try MQTTPushAdapter(
            configuration,
            logger: Logger(label: "push") { _ in SwiftLogNoOpLogHandler() }
        )
        let error = await #expect(throws: MQTTPushError.self) { try await adapter.run(into: RecordingIntake()) }
        #expect(error?.code == .badCredentials)
        #expect(error?.description.contains("bad user name or password (134). Check username and password") == true)
    }

    @Test func aRequiredFirstConnectionFailsIfEveryFilterIsRefused() async throws {
        let refused: [UInt8] = [0x90, 0x04, 0x00, 0x01, 0x00, 0x87]
        let broker = try FakeBroker([[FakeAnswers.connected, refused]])
        defer { broker.close() }
        var configuration = try MQTTPushConfiguration.test(port: broker.port, try Self.topics())
        configuration.firstConnectionMustSucceed = true
        let adapter = try MQTTPushAdapter(
            configuration,
            logger: Logger(label: "push") { _ in SwiftLogNoOpLogHandler() }
        )
        let error = await #expect(throws: MQTTPushError.self) { try await adapter.run(into: RecordingIntake()) }
        #expect(error?.code == .subscriptionRefused)
        #expect(error?.description.contains(#""push/+/+": not authorized (135). Change the topics"#) == true)
    }

    @Test func aStopBeforeTheFirstConnectionEndsTheRun() async throws {
        let adapter = try MQTTPushAdapter(
            try .test(port: 1, try Self.topics()),
            logger: Logger(label: "push") { _ in SwiftLogNoOpLogHandler() }
        )
        let run = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await adapter.run(into: RecordingIntake())
        }
        try await run.value
    }

    @Test func aStopDoesNotWaitForABlockedSecretFile() async throws {
        let pipe = FileManager.default.temporaryDirectory.appendingPathComponent("secret-\(UUID().uuidString)").path
        try #require(mkfifo(pipe, 0o600) == 0)
        defer { unlink(pipe) }
        var configuration = try MQTTPushConfiguration.test(port: 1, try Self.topics())
        configuration.username = .file(pipe)
        let adapter = try MQTTPushAdapter(
            configuration,
            logger: Logger(label: "push") { _ in SwiftLogNoOpLogHandler() }
        )
        let run = Task { try await adapter.run(into: RecordingIntake()) }
        // The call to `open` returns when the source opens the pipe. The source then waits for data.
        let writer = await withCheckedContinuation { opened in
            Thread.detachNewThread { opened.resume(returning: open(pipe, O_WRONLY | O_CLOEXEC)) }
        }
        defer { close(writer) }
        run.cancel()
        try await run.value
    }

    @Test func repeatedFailuresAreLoggedOncePerMinute() async throws {
        let connack: [UInt8] = [0x20, 0x03, 0x00, 0x88, 0x00]
        let broker = try FakeBroker(Array(repeating: [connack], count: 5) + [FakeAnswers.welcome])
        defer { broker.close() }
        try await PushTrial.run(try .test(port: broker.port, try Self.topics())) { trial in
            let lines = trial.log.all.filter { $0.contains("refused the connection") }
            #expect(lines.count == 1 && lines[0].contains("server unavailable (136)"))
            #expect(lines[0].hasPrefix("warning "))
        }
    }

    @Test func aSourceWithoutASessionHasARandomIdAndStartsClean() async throws {
        try await Broker.with { broker in
            let configuration = MQTTPushConfiguration.withoutSession(
                source: "push",
                broker: try MQTTBroker(url: broker.url),
                topics: try Self.topics()
            )
            try await PushTrial.run(configuration) { trial in
                try await broker.publish("{}", to: "push/log/1")
                _ = await trial.arrivals(1)
            }
            try await broker.publish("{}", to: "push/log/2")
            try await PushTrial.run(configuration) { trial in
                #expect(await trial.waitForLog("connected to").contains("new session"))
                try await broker.publish("{}", to: "push/log/3")
                #expect(await trial.firstID() == "3")
            }
        }
    }
}

@Suite struct ReconnectingTests {
    private let waits = MQTTReconnect(first: .seconds(1), cap: .seconds(5), slow: .seconds(30) ... .seconds(60))

    private func next(_ backoff: inout ReconnectBackoff, slow: Bool = false) -> Duration {
        backoff.next(isConfigurationError: slow, jitter: 1)
    }

    @Test func ceilingsDoubleUpToTheCapAndResetAfterSuccess() {
        var backoff = waits.backoff
        #expect(
            (0..<5).map { _ in next(&backoff) } == [.seconds(1), .seconds(2), .seconds(4), .seconds(5), .seconds(5)]
        )
        backoff.succeeded()
        #expect(next(&backoff) == .seconds(1))
    }

    @Test func jitterSelectsADelayWithinItsRange() {
        var backoff = waits.backoff
        #expect([0, 0.5].map { backoff.next(isConfigurationError: false, jitter: $0) } == [.zero, .seconds(1)])
        let slow = [0, 0.5, 1].map { backoff.next(isConfigurationError: true, jitter: $0) }
        #expect(slow == [.seconds(30), .seconds(45), .seconds(60)])
    }

    /// Without a lower bound, a plugin that returns every message would be called again at once.
    @Test func aDelayWithEqualJitterIsAtLeastHalfOfItsCeiling() {
        var backoff = waits.backoff
        let least = (0..<5).map { _ in backoff.next(isConfigurationError: false, usesEqualJitter: true, jitter: 0) }
        #expect(least == [.milliseconds(500), .seconds(1), .seconds(2), .milliseconds(2_500), .milliseconds(2_500)])
        let most = backoff.next(isConfigurationError: false, usesEqualJitter: true, jitter: 1)
        #expect(most == .seconds(5))
        let unbounded = backoff.next(isConfigurationError: false, jitter: 0)
        #expect(unbounded == .zero)
        backoff.succeeded()
        let first = backoff.next(isConfigurationError: false, usesEqualJitter: true, jitter: 0)
        #expect(first == .milliseconds(500))
    }

    @Test func aConfigurationErrorWaitsLongAndKeepsTheCeiling() {
        var backoff = waits.backoff
        #expect(next(&backoff, slow: true) == .seconds(60))
        #expect(next(&backoff) == .seconds(1))
    }

    @Test(arguments: [
        (132, true), (133, true), (134, true), (135, true), (136, false), (137, false), (138, true), (142, true),
        (139, false), (159, false), (200, false),
    ])
    func onlyCodesThatNeedReconfigurationAreConfigurationErrors(code: Int32, isFault: Bool) {
        #expect(BrokerDisconnectReason.refused(ReasonCode(rawValue: code)).isConfigurationError == isFault)
        #expect(BrokerDisconnectReason.closed(ReasonCode(rawValue: code)).isConfigurationError == isFault)
    }

    @Test func aDisconnectReasonHasAMessageWithAdvice() throws {
        var settings = MQTTPublisherConfiguration(source: "push", broker: try MQTTBroker(host: "b", port: 1))
        #expect(
            BrokerDisconnectReason.refused(ReasonCode(rawValue: 134)).message(for: settings)
                == "broker b:1 refused the connection: bad user name or password (134). Check username and password in "
                + "the configuration, and the broker's access rules"
        )
        #expect(
            BrokerDisconnectReason.connectFailed("connection refused").message(for: settings)
                == "cannot reach broker b:1: connection refused"
        )
        settings.remedies = [.credentials: "Check --user"]
        #expect(
            BrokerDisconnectReason.refused(ReasonCode(rawValue: 135)).message(for: settings)
                == "broker b:1 refused the connection: not authorized (135). Check --user"
        )
    }

    @Test func threeShortConnectionsInARowAreReportedOnce() {
        let lost = BrokerDisconnectReason.lost("closed")
        func reports(_ connections: [(BrokerDisconnectReason, Duration?)]) -> [Bool] {
            var connected = ShortConnections()
            return connections.map { connected.add($0, openFor: $1) }
        }
        let short = (lost, Duration?.some(.seconds(1)))
        #expect(reports([short, short, short, short]) == [false, false, true, false])
        // An attempt that fails in between changes nothing, as the other client does not end it.
        #expect(reports([short, short, (.connectFailed("refused"), nil), short]) == [false, false, false, true])
        #expect(reports([short, short, (lost, .seconds(10)), short]) == [false, false, false, false])
        #expect(reports([short, short, (.closed(.unspecified), .seconds(1)), short]) == [false, false, false, false])
    }

    @Test func theLogThrottleAdmitsOneLineOfAKindPerMinute() {
        var limit = LogThrottle()
        let start = ContinuousClock.now
        #expect(limit.admit("lost", at: start) == 0)
        #expect(limit.admit("lost", at: start + .seconds(1)) == nil)
        #expect(limit.admit("lost", at: start + .seconds(59)) == nil)
        #expect(limit.admit("timedOut", at: start + .seconds(59)) == 0)
        #expect(limit.admit("lost", at: start + .seconds(60)) == 2)
        #expect(limit.admit("lost", at: start + .seconds(61)) == nil)
    }

    @Test func aStopDoesNotWaitForABlockingCall() async throws {
        let bridge = try ThreadBridge<MQTTPushError>()
        let wasCalled = Promise<Bool>()
        try bridge.start { () throws(MQTTPushError) in
            let result: Void? = bridge.blocking { bridge.stop() }
            wasCalled.set(result != nil)
        }
        guard case .detached = await bridge.ended() else {
            Issue.record("the stop waited")
            return
        }
        #expect(await wasCalled.value())
        #expect(bridge.blocking {} == nil)
    }
}
