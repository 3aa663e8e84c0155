import ArgumentParser
import Foundation
import SignalboxCore
import Synchronization
import WebSocketChat

/// The options for the messages that the command `connect` sends.
struct OutgoingArguments: ParsableArguments {
    /// Whether stdin is a terminal, where the user ends the input with Ctrl-D.
    static var isInteractive: Bool { isatty(STDIN_FILENO) == 1 }

    @Option(
        name: [.customShort("m"), .customLong("body")],
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Send this once, before the lines of stdin; may be repeated.", valueName: "text")
    )
    var bodies: [String] = []

    @Flag(help: "Send binary messages: the unchanged bytes of each line.")
    var binary = false

    @Flag(help: "Do not read stdin.")
    var noInput = false

    @Flag(help: "End after stdin, even if it is empty or with --retry; with --count, once N messages have arrived.")
    var exitAfterInput = false

    @Option(
        help: "How long answers can arrive after the last line of stdin is sent; then close; default 1s, or never.",
        transform: DurationChoice.init
    )
    var linger: DurationChoice?

    func validate() throws {
        let isText = bodies.allSatisfy { String(validating: RawArguments.bytes(of: $0), as: UTF8.self) != nil }
        guard binary || isText else { throw ValidationError("--body: the message is not UTF-8; add --binary") }
    }

    /// Returns how the end of the input ends the command.
    ///
    /// - Parameters:
    ///   - hasLines: Whether stdin had a line. Without one, stdin is `/dev/null` or closed, and the user only receives.
    ///   - hasCount: Whether `--count` ends the command.
    ///   - reconnects: Whether `--retry` is set.
    func end(hasLines: Bool, hasCount: Bool, reconnects: Bool, isInteractive: Bool) -> InputEnd {
        let isRequested = exitAfterInput || linger != nil
        if isInteractive && !noInput && !isRequested { return .closesAfter(.zero) }
        guard !hasCount, isRequested || hasLines && !reconnects else { return .keepsConnection }
        return ending
    }

    private var ending: InputEnd {
        guard let linger else { return .closesAfter(.seconds(1)) }
        return linger.duration.map(InputEnd.closesAfter) ?? .keepsConnection
    }
}

/// What the command `connect` does after the end of its input.
enum InputEnd: Equatable {
    /// The connection is closed this long after the last line is written to it, whatever is received meanwhile.
    case closesAfter(Duration)
    case keepsConnection
}

/// Sends the user's input on a feed's connection: first the messages on the command line, then the lines of stdin. If
/// no connection is open, sending waits for the next one.
final class OutgoingLines: Sendable {
    /// How long to wait before trying again if the server reads too slowly.
    private static let pause: Duration = .milliseconds(5)
    /// How long the server has to answer a close frame.
    private static let closeTimeout: Duration = .seconds(5)

    private let options: OutgoingArguments
    private let watch: ConnectionWatch
    private let stop: AsyncStream<Void>.Continuation
    private let hasCount: Bool
    private let reconnects: Bool
    private let refused = Atomic(0)
    private let closed = Atomic(false)

    /// - Parameters:
    ///   - hasCount: Whether `--count` ends the command.
    ///   - reconnects: Whether the feed reconnects.
    ///   - stop: Yields to request the end of the run.
    init(
        _ options: OutgoingArguments,
        hasCount: Bool,
        reconnects: Bool,
        watch: ConnectionWatch,
        stop: AsyncStream<Void>.Continuation
    ) {
        self.options = options
        self.hasCount = hasCount
        self.reconnects = reconnects
        self.watch = watch
        self.stop = stop
    }

    /// The number of lines that could not be sent.
    var unsent: Int { refused.load(ordering: .relaxed) }
    /// Whether the connection was closed because the input had ended.
    var hasClosed: Bool { closed.load(ordering: .relaxed) }

    /// Sends all messages and lines, unless the task is cancelled first.
    func run() async {
        for message in options.bodies { await send(InputLine(RawArguments.bytes(of: message))) }
        let hasLines = options.noInput ? false : await sendInput()
        let end = options.end(
            hasLines: hasLines,
            hasCount: hasCount,
            reconnects: reconnects,
            isInteractive: OutgoingArguments.isInteractive
        )
        // The period starts when the last line is written. Waiting for a connection or for a slow server is not part of it.
        guard case .closesAfter(let period) = end else { return }
        do {
            try await waitUntilSent()
            try await Task.sleep(for: period)
        } catch {
            return
        }
        guard let connection = await watch.connection() else { return }
        closed.store(true, ordering: .relaxed)
        connection.close()
        // The server's close frame ends the run. If the server does not send one, the run is stopped here.
        if (try? await Task.sleep(for: OutgoingLines.closeTimeout)) != nil { stop.yield() }
    }

    /// Waits until the connection has written all queued lines, however slowly the server reads. `--timeout`, a signal and
    /// the end of the connection end the wait.
    private func waitUntilSent() async throws {
        while let connection = await watch.connection() {
            guard let waiting = connection.waitingBytes, waiting > 0 else { return }
            try await Task.sleep(for: OutgoingLines.pause)
        }
        try Task.checkCancellation()
    }

    /// - Returns: Whether stdin had a line.
    private func sendInput() async -> Bool {
        var hasLines = false
        var reader = LineReader(limit: ConnectCommand.messageLimits.bytes)
        do throws(SystemError) {
            while let lines = try await reader.next() {
                for line in lines { await send(line) }
                hasLines = hasLines || !lines.isEmpty
            }
        } catch {
            refuse("stdin cannot be read: \(error)")
        }
        return hasLines
    }

    private func send(_ line: InputLine) async {
        guard !line.isTruncated else {
            return refuse("a line was not sent: it is longer than \(ConnectCommand.messageLimits.bytes) bytes")
        }
        let text = options.binary ? nil : String(validating: line.bytes, as: UTF8.self)
        guard options.binary || text != nil else {
            return refuse("a line was not sent: it is not UTF-8; --binary sends bytes unchanged")
        }
        while let connection = await watch.connection() {
            do throws(SendRefused) {
                if let text { return try connection.send(text: text) }
                return try connection.send(binary: Bytes(line.bytes))
            } catch {
                switch error {
                case .closed: watch.closed(connection)
                case .full: try? await Task.sleep(for: OutgoingLines.pause)
                default: return refuse("a line was not sent: \(error)")
                }
            }
        }
    }

    private func refuse(_ reason: String) {
        DiagnosticOutput.shared.report(reason)
        refused.add(1, ordering: .relaxed)
    }
}
