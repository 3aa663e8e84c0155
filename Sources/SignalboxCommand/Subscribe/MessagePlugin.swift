import SignalboxCore
import Synchronization

/// Writes a line for each message to stdout until enough are out; what comes then is not shown.
final class MessagePlugin: Plugin {
    /// Why nothing more is shown.
    enum Closing: Sendable {
        case enough
        case time
    }

    private struct State {
        var shown = 0
        var closing: Closing?
    }

    let action: ActionName
    private let count: Int?
    private let output: StandardOutput
    private let line: @Sendable (RawBody, ActionContext) -> [UInt8]
    private let enough: @Sendable () -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - count: after so many messages nothing more is shown.
    ///   - line: what is written for a message, with its newline.
    ///   - enough: called once, when the last message asked for is out.
    init(
        action: ActionName,
        count: Int?,
        output: StandardOutput,
        line: @escaping @Sendable (RawBody, ActionContext) -> [UInt8],
        enough: @escaping @Sendable () -> Void
    ) {
        self.action = action
        self.count = count
        self.output = output
        self.line = line
        self.enough = enough
    }

    /// How many messages are out.
    var shown: Int { state.withLock { $0.shown } }
    /// Why nothing more is shown, or `nil` while messages are.
    var closing: Closing? { state.withLock { $0.closing } }

    /// From now on nothing is shown.
    func close(because reason: Closing) {
        state.withLock { if $0.closing == nil { $0.closing = reason } }
    }

    func callAsAction(_ info: RawBody, context: ActionContext) async throws {
        guard closing == nil else { return }
        try await output.write(line(info, context))
        let isLast = state.withLock { state in
            state.shown += 1
            guard state.closing == nil, state.shown == count else { return false }
            state.closing = .enough
            return true
        }
        if isLast { enough() }
    }
}
