import Foundation
import Synchronization

/// Passes what comes to a port of its own on to another one and back, until a test cuts it.
public final class Relay: Sendable {
    private struct State {
        var sockets: Set<Int32> = []
        var isRefusing = false
        var target: UInt16 = 0
    }

    /// The port it listens on.
    public let port: UInt16
    private let listener: Int32
    private let state = Mutex(State())

    /// Starts to listen; ``forward(to:)`` says where connections lead.
    public init() throws {
        (listener, port) = try LoopbackPort.listening()
        // The threads hold the object until `close()` ends them.
        Thread.detachNewThread { self.serve() }
    }

    /// Leads what comes from now on to a port of the loopback interface.
    public func forward(to target: UInt16) {
        state.withLock { $0.target = target }
    }

    /// Breaks all connections, and those to come until ``mend()``.
    public func cut() {
        state.withLock { state in
            state.isRefusing = true
            for socket in state.sockets { shutdown(socket, Int32(SHUT_RDWR)) }
        }
    }

    /// Lets connections through again.
    public func mend() {
        state.withLock { $0.isRefusing = false }
    }

    /// Breaks all connections and stops listening.
    public func close() {
        cut()
        shutdown(listener, Int32(SHUT_RDWR))
    }

    private func serve() {
        while true {
            let near = accept(listener, nil, nil)
            guard near >= 0 else { break }
            guard let far = try? LoopbackPort.makeSocket() else {
                Foundation.close(near)
                continue
            }
            let isOpen = LoopbackPort.connects(far, to: state.withLock { $0.target })
            let isTaken = state.withLock { state in
                guard isOpen, !state.isRefusing else { return false }
                state.sockets.formUnion([near, far])
                return true
            }
            guard isTaken else {
                Foundation.close(near)
                Foundation.close(far)
                continue
            }
            Thread.detachNewThread { self.join(near, far) }
        }
        Foundation.close(listener)
    }

    private func join(_ near: Int32, _ far: Int32) {
        let back = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            Relay.pass(from: far, to: near)
            back.signal()
        }
        Relay.pass(from: near, to: far)
        back.wait()
        state.withLock { state in
            state.sockets.subtract([near, far])
            Foundation.close(near)
            Foundation.close(far)
        }
    }

    private static func pass(from: Int32, to: Int32) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(from, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            var rest = buffer[..<count]
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
