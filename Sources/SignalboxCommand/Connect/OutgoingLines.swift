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

    func validate() throws {
        let isText = message.allSatisfy { String(validating: RawArguments.bytes(of: $0), as: UTF8.self) != nil }
        guard binary || isText else { throw ValidationError("--message: the message is not UTF-8; add --binary") }
    }
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
    private let refused = Atomic(0)

    /// - Parameter stop: Yields to request the end of the run.
    init(_ options: OutgoingArguments, watch: ConnectionWatch, stop: AsyncStream<Void>.Continuation) {
        self.options = options
        self.watch = watch
        self.stop = stop
    }

    /// The number of lines that could not be sent.
    var unsent: Int { refused.load(ordering: .relaxed) }

    /// Sends all messages and lines, unless the task is cancelled first.
    func run() async {
        for message in options.message { await send(InputLine(RawArguments.bytes(of: message))) }
        if !options.noInput { await sendInput() }
        let closes = options.exitAfterInput || OutgoingArguments.isInteractive && !options.noInput
        guard closes, let connection = await watch.connection() else { return }
        connection.close()
        // The server's close frame ends the run. If the server does not send one, the run is stopped here.
        if (try? await Task.sleep(for: OutgoingLines.closeTimeout)) != nil { stop.yield() }
    }

    private func sendInput() async {
        var reader = LineReader(limit: ConnectCommand.messageLimits.bytes)
        do throws(SystemError) {
            while let lines = try await reader.next() {
                for line in lines { await send(line) }
            }
        } catch {
            refuse("stdin cannot be read: \(error)")
        }
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
