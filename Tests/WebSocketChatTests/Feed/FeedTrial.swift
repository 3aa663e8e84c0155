import BrokerKit
import Foundation
import Logging
import SignalboxCore
import SignalboxTesting
import Synchronization
import TestSupport
import Testing

@testable import WebSocketChat

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A running feed, its arrivals and its log lines.
struct FeedTrial {
    let feed: WebSocketFeed
    let intake: RecordingIntake
    let log: EventList<String>

    init(
        _ configuration: WebSocketFeedConfiguration,
        _ environment: FeedEnvironment = FeedEnvironment(),
        thread: WebSocketThread = WebSocketThread(),
        into intake: RecordingIntake = RecordingIntake()
    ) throws {
        let log = EventList<String>()
        let logger = Logger(label: "feed") { _ in RecordingLog(log) }
        feed = try WebSocketFeed(configuration, thread: thread, logger: logger, environment: environment)
        self.intake = intake
        self.log = log
    }

    /// Runs a feed while `body` runs, then stops it gracefully and waits for its end.
    static func run(
        _ configuration: WebSocketFeedConfiguration,
        _ environment: FeedEnvironment = FeedEnvironment(),
        thread: WebSocketThread = WebSocketThread(),
        into intake: RecordingIntake = RecordingIntake(),
        _ body: (FeedTrial) async throws -> Void
    ) async throws {
        let trial = try FeedTrial(configuration, environment, thread: thread, into: intake)
        try await trial.whileRunning { try await body(trial) }
    }

    func whileRunning(_ body: () async throws -> Void) async throws {
        try await ServiceRun.during({ try await feed.run(into: intake) }, onFailure: intake.settleAll, body)
    }

    /// Waits for `count` log lines that contain the text, and returns the last of them.
    @discardableResult
    func waitForLog(_ text: String, times count: Int = 1) async -> String {
        await log.line(containing: text, times: count)
    }

    /// Waits for the first `count` actions and returns their names.
    func names(_ count: Int) async -> [String] {
        await intake.taken.first(count).map(\.name)
    }
}

extension WebSocketFeedConfiguration {
    /// Returns the configuration of a source `feed` for a local server, with quick reconnects and without pings.
    static func test(
        _ port: UInt16,
        scheme: String = "ws",
        host: String = "127.0.0.1",
        _ change: (inout WebSocketFeedConfiguration) -> Void = { _ in }
    ) throws -> WebSocketFeedConfiguration {
        let url = try WebSocketURL("\(scheme)://\(host):\(port)/chat?token=canary-7c1e")
        var configuration = WebSocketFeedConfiguration(source: "feed", url: url)
        configuration.reconnect = WebSocketReconnect(
            first: .milliseconds(1),
            cap: .milliseconds(10),
            slow: .milliseconds(1) ... .milliseconds(10),
            holds: .zero
        )
        configuration.pingAfter = nil
        // A test's host must not wait on a connection that the feed has given up, however slow the machine is.
        configuration.connectTimeout = .seconds(60)
        change(&configuration)
        return configuration
    }
}

extension TransportTrial where Transport: FrameSender {
    /// Sends a text message.
    func send(_ text: String, on id: ConnectionID) {
        #expect(transport.send(Array(text.utf8), .text, on: id) == .accepted)
    }
}

/// A clock and waits between connections under a test's control.
final class FeedTimes: Sendable {
    /// The waits between connections that have started.
    let waits = EventList<Duration>()
    /// The number of times that the clock was read.
    let clockReads = Watched(0)
    private let allowed = Watched(0)
    private let time = Mutex(ContinuousClock.now)
    private let step: Duration
    private let keepsWaits: Bool

    /// Creates a clock that does not advance, and waits that do not end by themselves.
    init() {
        step = .zero
        keepsWaits = true
    }

    /// Creates a clock that advances by `step` on each reading, and real waits.
    init(step: Duration) {
        self.step = step
        keepsWaits = false
    }

    /// The environment of a feed. Each wait has its maximum length.
    var environment: FeedEnvironment {
        var environment = FeedEnvironment()
        environment.now = { [self] in
            clockReads.change { $0 += 1 }
            return time.withLock { time in
                time += step
                return time
            }
        }
        environment.jitter = { 1 }
        if keepsWaits { environment.sleep = { [self] in try await wait($0) } }
        return environment
    }

    func advance(by duration: Duration) {
        time.withLock { $0 += duration }
    }

    /// Lets `count` more waits end.
    func releaseWaits(_ count: Int = 1) {
        allowed.change { $0 += count }
    }

    private func wait(_ duration: Duration) async throws {
        waits.append(duration)
        let number = waits.all.count
        guard await allowed.until({ $0 >= number }) else { throw CancellationError() }
    }
}

/// A server that sends a test's answer to each request and then falls silent, as no proper server does.
final class FakeServer: Sendable {
    let port: UInt16
    /// The requests received, one per connection.
    let requests = EventList<String>()
    private let listener: Int32
    private let sockets = Mutex<[Int32]>([])
    private let answer: @Sendable (String) -> String

    /// - Parameter answer: Returns the answer to a request.
    init?(_ answer: @escaping @Sendable (String) -> String) {
        guard let (socket, port) = try? LoopbackPort.listening() else { return nil }
        self.answer = answer
        self.port = port
        listener = socket
        Thread.detachNewThread { [weak self] in
            // Closed only here: after a close elsewhere, its number could be reused while this thread still uses it.
            defer { close(socket) }
            while true {
                let accepted = LoopbackPort.accept(on: socket)
                guard accepted >= 0 else { return }
                guard let self else {
                    close(accepted)
                    return
                }
                serve(accepted)
            }
        }
    }

    deinit {
        end()
    }

    /// Closes every connection and accepts no further one.
    func end() {
        shutdown(listener, Int32(SHUT_RDWR))
        drop()
    }

    /// Closes every connection.
    func drop() {
        let open = sockets.withLock { sockets in
            defer { sockets = [] }
            return sockets
        }
        for socket in open { close(socket) }
    }

    private func serve(_ socket: Int32) {
        var request: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while request.suffix(4) != Array("\r\n\r\n".utf8)[...] {
            let count = recv(socket, &buffer, buffer.count, 0)
            guard count > 0 else {
                close(socket)
                return
            }
            request += buffer.prefix(count)
        }
        let text = String(decoding: request, as: UTF8.self)
        let answer = Array(answer(text).utf8)
        sockets.withLock { $0.append(socket) }
        requests.append(text)
        _ = answer.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }
}
