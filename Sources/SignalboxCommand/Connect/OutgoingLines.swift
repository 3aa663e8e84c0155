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
    private let lines: MessageLines
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
        lines = MessageLines(input.form)
        self.hasCount = hasCount
        self.reconnects = reconnects
        self.watch = watch
        self.stop = stop
    }

    /// The number of lines that could not be sent.
    var unsent: Int { lines.unsent }
    /// Whether the connection was closed because the input had ended.
    var hasClosed: Bool { closed.load(ordering: .relaxed) }

    /// Sends all messages and lines, unless the task is cancelled first.
    func run() async {
        let options = input.options
        for body in options.bodies { await send(lines.message(InputLine(RawArguments.bytes(of: body)))) }
        if let file = input.file {
            let name = "the file"
            await send(lines.message(name) { () throws(UnsendableInput) in try input.form.content(file) }, name)
        }
        let hasLines = options.readsLines ? await lines.read { await send($0) } : options.file == "-"
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

    /// - Parameters:
    ///   - message: The message. If it is `nil`, nothing is sent.
    ///   - name: What the message is, for error messages.
    private func send(_ message: OutgoingMessage?, _ name: String = MessageLines.lineName) async {
        guard let message else { return }
        while let connection = await watch.connection() {
            do throws(SendRefused) {
                return try message.send(on: connection)
            } catch {
                switch error {
                case .closed: watch.closed(connection)
                case .full: try? await Task.sleep(for: OutgoingLines.pause)
                default: return lines.refuse("\(name) was not sent: \(error)")
                }
            }
        }
    }
}

/// Reads the lines of stdin as messages, and reports and counts those that cannot be sent.
final class MessageLines: Sendable {
    /// What a line is called in error messages.
    static let lineName = "a line"

    private let form: OutgoingForm
    private let refused = Atomic(0)

    init(_ form: OutgoingForm) {
        self.form = form
    }

    /// The number of messages that could not be sent.
    var unsent: Int { refused.load(ordering: .relaxed) }

    /// Passes on the message of each line, one after the other, until stdin ends or the task is cancelled.
    ///
    /// - Returns: Whether stdin had a line.
    func read(_ send: (OutgoingMessage) async -> Void) async -> Bool {
        var hasLines = false
        var reader = LineReader(limit: form.lineLimit)
        do throws(SystemError) {
            while let lines = try await reader.next() {
                for line in lines { if let message = message(line) { await send(message) } }
                hasLines = hasLines || !lines.isEmpty
            }
        } catch {
            refuse("stdin cannot be read: \(error)")
        }
        return hasLines
    }

    /// Returns the message of a line, or `nil` if it was refused.
    func message(_ line: InputLine) -> OutgoingMessage? {
        guard !line.isTruncated else {
            refuse("\(MessageLines.lineName) was not sent: it is longer than \(form.lineLimit) bytes")
            return nil
        }
        return message(MessageLines.lineName) { () throws(UnsendableInput) in try form.message(line.bytes) }
    }

    /// - Parameter name: What the message is, for error messages.
    func message(_ name: String, _ make: () throws(UnsendableInput) -> OutgoingMessage) -> OutgoingMessage? {
        do throws(UnsendableInput) {
            return try make()
        } catch {
            refuse("\(name) was not sent: it is \(error)")
            return nil
        }
    }

    /// Reports a message that was not sent.
    func refuse(_ reason: String) {
        DiagnosticOutput.shared.report(reason)
        refused.add(1, ordering: .relaxed)
    }
}
