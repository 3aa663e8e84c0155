import Foundation
import SignalboxTesting
import Synchronization

/// A TCP relay from its own port, or a Unix socket, to another port, which a test can cut.
public final class Relay: Sendable {
    private struct State {
        var sockets: Set<Int32> = []
        var isRefusing = false
        var target: UInt16 = 0
        /// The record count after which new connections withhold answers; `nil` if they do not.
        var withheldAfter: Int?
    }

    /// The listening port, or 0 for a Unix socket.
    public let port: UInt16
    private let listener: Int32
    private let state = Mutex(State())
    private let withheld = Watched(0)

    /// Starts listening; ``forward(to:)`` sets the target.
    public init() throws {
        (listener, port) = try LoopbackPort.listening()
        // The threads retain the object until `close()` ends them.
        Thread.detachNewThread { self.serve() }
    }

    /// Starts listening on a Unix socket, which this initializer creates; ``forward(to:)`` sets the target.
    public init(unixSocket path: String) throws {
        (listener, port) = (try LoopbackPort.listening(unixSocket: path), 0)
        Thread.detachNewThread { self.serve() }
    }

    /// Forwards new connections to a port of the loopback interface.
    public func forward(to target: UInt16) {
        state.withLock { $0.target = target }
    }

    /// Breaks all connections, and refuses new ones until ``mend()``.
    public func cut() {
        state.withLock { state in
            state.isRefusing = true
            for socket in state.sockets { shutdown(socket, Int32(SHUT_RDWR)) }
        }
    }

    /// Accepts connections again.
    public func mend() {
        state.withLock { $0.isRefusing = false }
    }

    /// Discards all answers to clients that connect later. Their requests are still forwarded.
    ///
    /// - Parameter count: The number of TLS records of application data that the client may send first, 0 for none.
    ///   With two, a client of TLS 1.3 completes its handshake and sends its first bytes.
    public func withholdAnswers(afterRecords count: Int = 0) {
        state.withLock { $0.withheldAfter = count }
    }

    /// Forwards the answers to clients that connect later.
    public func letAnswersThrough() {
        state.withLock { $0.withheldAfter = nil }
    }

    /// Waits until an answer is discarded.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func untilAnswerIsWithheld() async throws {
        guard await withheld.until({ $0 > 0 }) else { throw CancellationError() }
    }

    /// Breaks all connections and stops listening.
    public func close() {
        cut()
        shutdown(listener, Int32(SHUT_RDWR))
    }

    private func serve() {
        while true {
            let near = LoopbackPort.accept(on: listener)
            guard near >= 0 else { break }
            guard let far = try? LoopbackPort.makeSocket() else {
                Foundation.close(near)
                continue
            }
            let isOpen = LoopbackPort.connects(far, to: state.withLock { $0.target })
            let hold = state.withLock { state -> AnswerHold? in
                guard isOpen, !state.isRefusing else { return nil }
                state.sockets.formUnion([near, far])
                return AnswerHold(afterRecords: state.withheldAfter)
            }
            guard let hold else {
                Foundation.close(near)
                Foundation.close(far)
                continue
            }
            Thread.detachNewThread { self.join(near, far, hold) }
        }
        Foundation.close(listener)
    }

    private func join(_ near: Int32, _ far: Int32, _ hold: AnswerHold) {
        let back = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            Relay.pass(from: far, to: near) { _ in
                guard hold.isHolding else { return true }
                self.withheld.change { $0 += 1 }
                return false
            }
            back.signal()
        }
        Relay.pass(from: near, to: far) { bytes in
            hold.clientSends(bytes)
            return true
        }
        back.wait()
        state.withLock { state in
            state.sockets.subtract([near, far])
            Foundation.close(near)
            Foundation.close(far)
        }
    }

    /// - Parameter mayPass: Receives all bytes before they are forwarded; returns whether to forward them.
    static func pass(from: Int32, to: Int32, _ mayPass: (ArraySlice<UInt8>) -> Bool) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(from, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            var rest = buffer[..<count]
            guard mayPass(rest) else { continue }
            while !rest.isEmpty {
                let sent = rest.withUnsafeBytes { Foundation.send(to, $0.baseAddress, $0.count, FakeBroker.noSignal) }
                guard sent > 0 else { break }
                rest = rest.dropFirst(sent)
            }
        }
        shutdown(to, Int32(SHUT_WR))
        shutdown(from, Int32(SHUT_RD))
    }
}

/// Decides when to start discarding the answers of one relayed connection: immediately, or after a number of the
/// client's TLS records of application data (RFC 8446, 5.1). The first such record completes the client's handshake.
final class AnswerHold: Sendable {
    private struct State {
        /// The remaining records; `nil` for a connection whose answers all pass.
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

    /// Counts the client's records. Must be called before the bytes are forwarded.
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
