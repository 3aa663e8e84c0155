import SignalboxCore
import Synchronization
import WebSocketChat

/// Sends the user's input on a feed's connection: first the messages on the command line, then the file, then the lines of stdin. If
/// no connection is open, sending waits for the next one.
final class OutgoingLines: Sendable {
    /// How long to wait before trying again if the server reads too slowly.
    private static let pause: Duration = .milliseconds(5)
    /// How long the server has to answer a close frame.
    private static let closeTimeout: Duration = .seconds(5)

    private let input: OutgoingInput
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
        _ input: OutgoingInput,
        hasCount: Bool,
        reconnects: Bool,
        watch: ConnectionWatch,
        stop: AsyncStream<Void>.Continuation
    ) {
        self.input = input
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
        let options = input.options
        for message in options.bodies { await send(InputLine(RawArguments.bytes(of: message))) }
        if let file = input.file {
            await send("the file") { () throws(UnsendableInput) in try input.form.content(file) }
        }
        let hasLines = options.readsLines ? await sendInput() : options.file == "-"
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
        options.close(connection)
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
        var reader = LineReader(limit: input.form.lineLimit)
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
            return refuse("a line was not sent: it is longer than \(input.form.lineLimit) bytes")
        }
        await send("a line") { () throws(UnsendableInput) in try input.form.message(line.bytes) }
    }

    /// - Parameter name: What the message is, for error messages.
    private func send(_ name: String, _ make: () throws(UnsendableInput) -> OutgoingMessage) async {
        let message: OutgoingMessage
        do throws(UnsendableInput) { message = try make() } catch {
            return refuse("\(name) was not sent: it is \(error)")
        }
        while let connection = await watch.connection() {
            do throws(SendRefused) {
                return try message.send(on: connection)
            } catch {
                switch error {
                case .closed: watch.closed(connection)
                case .full: try? await Task.sleep(for: OutgoingLines.pause)
                default: return refuse("\(name) was not sent: \(error)")
                }
            }
        }
    }

    private func refuse(_ reason: String) {
        DiagnosticOutput.shared.report(reason)
        refused.add(1, ordering: .relaxed)
    }
}
