import ArgumentParser
import SignalboxCore
import Synchronization
import WebSocketChat

/// Sends the user's input to a feed's connection: messages of the command line, then the lines of stdin. Without a
/// connection, sending waits for the next one.
final class OutgoingLines: Sendable {
    /// The delay before a retry if the server reads too slowly.
    private static let pause: Duration = .milliseconds(5)
    /// The time the server has to answer a close frame.
    private static let closeTimeout: Duration = .seconds(5)

    private let request: OutgoingRequest
    private let watch: ConnectionWatch
    private let stop: @Sendable () -> Void
    private let refused = Atomic(0)

    /// - Parameter stop: Requests the end of the run.
    init(_ request: OutgoingRequest, watch: ConnectionWatch, stop: @escaping @Sendable () -> Void) {
        self.request = request
        self.watch = watch
        self.stop = stop
    }

    /// The number of lines that could not be sent.
    var unsent: Int { refused.load(ordering: .relaxed) }

    /// Sends all messages and lines. Stops when the task is cancelled.
    func run() async {
        for message in request.messages { await send(Array(message.utf8)) }
        if request.readsInput { await sendInput() }
        guard request.closesAfterInput, let connection = await watch.connection() else { return }
        connection.close()
        // The server's close ends the run. If it does not come, the run is stopped.
        guard (try? await Task.sleep(for: OutgoingLines.closeTimeout)) != nil else { return }
        stop()
    }

    private func sendInput() async {
        let reader = ChunkReader(.standardInput)
        var splitter = LineSplitter(limit: ConnectRequest.limits.bytes)
        while !Task.isCancelled {
            let chunk: [UInt8]
            do throws(SystemError) {
                chunk = try await reader.next()
            } catch {
                DiagnosticOutput.shared.report("stdin cannot be read: \(error)")
                refused.add(1, ordering: .relaxed)
                return
            }
            guard !chunk.isEmpty else { break }
            for line in splitter.lines(in: chunk) { await send(line) }
        }
        if !Task.isCancelled, let last = splitter.lastLine() { await send(last) }
    }

    private func send(_ line: InputLine) async {
        guard !line.isTruncated else {
            return refuse("a line was not sent: it is longer than \(ConnectRequest.limits.bytes) bytes")
        }
        await send(line.bytes)
    }

    private func send(_ bytes: [UInt8]) async {
        var text: String?
        if !request.isBinary {
            text = String(validating: bytes, as: UTF8.self)
            guard text != nil else {
                return refuse("a line was not sent: it is not UTF-8; --binary sends bytes unchanged")
            }
        }
        while let connection = await watch.connection() {
            do throws(SendRefused) {
                if let text { try connection.send(text: text) } else { try connection.send(binary: Bytes(bytes)) }
                return
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

/// The messages that `connect` sends.
struct OutgoingRequest: Sendable, Hashable {
    /// Messages sent once, before the lines of stdin.
    var messages: [String] = []
    /// Whether the lines of stdin are sent.
    var readsInput = true
    /// Whether the connection is closed after the last line.
    var closesAfterInput = false
    /// Whether binary messages are sent.
    var isBinary = false
}

/// The options of `connect` for sent messages.
struct OutgoingArguments: ParsableArguments {
    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Send this once, before the lines of stdin; may be repeated.", valueName: "text")
    )
    var message: [String] = []

    @Flag(help: "Send binary messages: the unchanged bytes of each line.")
    var binary = false

    @Flag(help: "Do not read stdin.")
    var noInput = false

    @Flag(help: "Close the connection after the last line of stdin is sent.")
    var exitAfterInput = false

    /// - Parameter isInteractive: Whether stdin is a terminal, where Ctrl-D ends the input.
    func request(isInteractive: Bool) -> OutgoingRequest {
        OutgoingRequest(
            messages: message,
            readsInput: !noInput,
            closesAfterInput: exitAfterInput || isInteractive && !noInput,
            isBinary: binary
        )
    }
}
