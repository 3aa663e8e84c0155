import AdapterSupport
import SignalboxCore
import Synchronization

/// A command that is connected to the running program. It sends one request a line, and gets the answers in order.
///
/// The thread of the ``ControlSocket`` reads and writes. Any thread may add to the answer.
final class ControlConnection: Sendable {
    /// The bytes of an answer that may wait for a command that does not read. A part that does not fit ends the connection,
    /// except for parts that may be left out.
    static let outputLimit = 8 << 20
    /// The bytes that may wait before parts that may be left out are.
    static let optionalLimit = 256 << 10

    private struct State {
        var input: [UInt8] = []
        var output: [UInt8] = []
        /// Whether a request is being answered.
        var isAnswering = false
        /// Whether the command sends nothing more.
        var hasInputEnded = false
        /// Whether everything else that the command sends is thrown away. If it stayed unread, closing the connection would also
        /// take away the answer that the command has not read.
        var discardsInput = false
        /// Whether the command has been told that no answer will follow.
        var isShutDown = false
        var isClosed = false
    }

    let socket: OwnedDescriptor
    private let lineLimit: Int
    private let wake: WakeSignal
    private let state = Mutex(State())
    /// Set when the connection ends, so that answers without an end do.
    let closed = Promise<Void>()

    /// - Parameters:
    ///   - lineLimit: The maximum size of a request, in bytes.
    ///   - wake: Tells the thread that there is something to write.
    init(_ socket: OwnedDescriptor, lineLimit: Int, wake: WakeSignal) {
        (self.socket, self.lineLimit, self.wake) = (socket, lineLimit, wake)
    }

    // MARK: - Answers

    /// Adds a line to the answer.
    ///
    /// - Parameter isOptional: Whether the line may be left out if the command does not keep up.
    /// - Returns: Whether the line was added. `false` for any other line means that the connection has ended.
    @discardableResult
    func write(_ line: [UInt8], isOptional: Bool = false) -> Bool {
        let isAdded = state.withLock { state in
            let limit = isOptional ? ControlConnection.optionalLimit : ControlConnection.outputLimit
            guard !state.isClosed, state.output.count + line.count <= limit else {
                if !isOptional { state.isClosed = true }
                return false
            }
            state.output += line
            return true
        }
        wake.wake()
        return isAdded
    }

    /// Ends the answer. The next request is read only then.
    func endAnswer() {
        state.withLock { $0.isAnswering = false }
        wake.wake()
    }

    // MARK: - The thread

    /// Whether the connection answers no request.
    var isRefused: Bool { state.withLock { $0.discardsInput } }

    /// Answers no request, and lets the command read why.
    func refuse(_ refusal: ControlRefusal) {
        state.withLock { state in
            state.discardsInput = true
            state.output += refusal.line
        }
    }

    /// The events to wait for.
    var interest: Int16 {
        state.withLock { state in
            let reads = !state.hasInputEnded && state.input.count <= lineLimit
            return (reads ? Int16(POLLIN) : 0) | (state.output.isEmpty ? 0 : Int16(POLLOUT))
        }
    }

    /// Whether nothing is left to do, or the command is gone.
    var hasEnded: Bool {
        state.withLock { state in
            state.isClosed
                || (state.hasInputEnded && !state.isAnswering && state.output.isEmpty && state.input.isEmpty)
        }
    }

    /// Whether a whole request waits to be taken.
    var hasRequest: Bool { state.withLock { !$0.isAnswering && $0.input.contains(UInt8(ascii: "\n")) } }

    /// Whether an answer is in progress or waits to be written.
    var isBusy: Bool { state.withLock { !$0.isClosed && ($0.isAnswering || !$0.output.isEmpty) } }

    func close() {
        state.withLock { $0.isClosed = true }
        closed.set(())
    }

    /// Reads what has arrived.
    func read() {
        withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 1) { buffer in
            let count = recv(socket.number, buffer.baseAddress, buffer.count, 0)
            state.withLock { state in
                if count > 0 {
                    if !state.discardsInput { state.input += buffer.prefix(count) }
                } else if count == 0 {
                    state.hasInputEnded = true
                } else if errno != EAGAIN, errno != EINTR {
                    state.isClosed = true
                }
            }
        }
    }

    /// Writes what the system takes at once.
    func send() {
        state.withLock { state in
            guard !state.output.isEmpty else {
                if state.discardsInput, !state.isShutDown {
                    state.isShutDown = true
                    shutdown(socket.number, Int32(SHUT_WR))
                }
                return
            }
            let count = state.output.withUnsafeBytes { StreamSocket.send($0, on: socket.number) }
            if count > 0 {
                state.output.removeFirst(count)
            } else if errno != EAGAIN, errno != EINTR {
                state.isClosed = true
            }
        }
    }

    /// Takes the next request, unless one is being answered.
    ///
    /// - Returns: The line without its line break, or `nil` if there is none.
    /// - Throws: ``ControlRefusal`` if the line is too long. The connection then gets no further request.
    func takeLine() throws(ControlRefusal) -> Bytes? {
        enum Found { case none, tooLong, line([UInt8]) }
        let found = state.withLock { state -> Found in
            guard !state.isAnswering, !state.isClosed, !state.discardsInput else { return .none }
            guard let end = state.input.firstIndex(of: UInt8(ascii: "\n")) else {
                guard state.input.count > lineLimit || (state.hasInputEnded && !state.input.isEmpty) else {
                    return .none
                }
                let isTooLong = state.input.count > lineLimit
                (state.hasInputEnded, state.discardsInput) = (!isTooLong, isTooLong)
                state.isAnswering = !isTooLong
                defer { state.input = [] }
                return isTooLong ? .tooLong : .line(state.input)
            }
            state.isAnswering = true
            defer { state.input.removeFirst(end + 1) }
            return .line(Array(state.input[..<end]))
        }
        switch found {
        case .none: return nil
        case .tooLong: throw ControlRefusal(.invalidRequest, "the request has more than \(lineLimit) bytes")
        case .line(let line): return Bytes(line)
        }
    }
}
