import MQTTPush
import SignalboxCore
import Synchronization

/// Writes each message to stdout until enough are out; what comes then is not shown.
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

    let action = SubscribeRequest.action
    private let request: SubscribeRequest
    private let output: StandardOutput
    private let enough: @Sendable () -> Void
    private let state = Mutex(State())

    /// - Parameter enough: called once, when the last message asked for is out.
    init(request: SubscribeRequest, output: StandardOutput, enough: @escaping @Sendable () -> Void) {
        self.request = request
        self.output = output
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
            guard state.closing == nil, state.shown == request.count else { return false }
            state.closing = .enough
            return true
        }
        if isLast { enough() }
    }

    private func line(_ info: RawBody, _ context: ActionContext) -> [UInt8] {
        guard !request.isRaw else { return Array(info.bytes) + [UInt8(ascii: "\n")] }
        let message = MessageRecord(payload: info.bytes, context: context, patterns: request.patterns)
        return output.isTerminal ? message.terminalLine : message.jsonLine
    }
}
