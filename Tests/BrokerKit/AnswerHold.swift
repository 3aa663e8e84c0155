import Synchronization

/// Decides from when on the answers of one relayed connection are thrown away: at once, or when so many TLS records of
/// application data have gone the other way (RFC 8446, 5.1), the first of which ends the client's handshake.
final class AnswerHold: Sendable {
    private struct State {
        /// `nil` for a connection whose answers all pass.
        var recordsLeft: Int?
        var header: [UInt8] = []
        var bodyLeft = 0
    }

    private static let applicationData: UInt8 = 23
    private let state: Mutex<State>

    init(afterRecords count: Int?) {
        state = Mutex(State(recordsLeft: count))
    }

    var isHolding: Bool { state.withLock { $0.recordsLeft == 0 } }

    /// Looks at what the client sends; must be told before the bytes go on.
    func clientSends(_ bytes: ArraySlice<UInt8>) {
        state.withLock { state in
            guard var left = state.recordsLeft else { return }
            defer { state.recordsLeft = left }
            var rest = bytes
            while left > 0 && !rest.isEmpty {
                if state.bodyLeft > 0 {
                    let count = min(state.bodyLeft, rest.count)
                    rest = rest.dropFirst(count)
                    state.bodyLeft -= count
                    continue
                }
                state.header.append(rest.removeFirst())
                guard state.header.count == 5 else { continue }
                if state.header[0] == AnswerHold.applicationData { left -= 1 }
                state.bodyLeft = Int(state.header[3]) << 8 | Int(state.header[4])
                state.header = []
            }
        }
    }
}
