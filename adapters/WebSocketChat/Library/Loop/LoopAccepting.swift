#if WebSocket
import AdapterSupport
import CLibwebsockets

/// Accepts the connections of a socket that the library did not open, and passes them to the library.
///
/// Only the loop's thread uses it. Stop it before you destroy the context.
final class LibraryAcceptor {
    // The other connections of the thread must not wait for a flood.
    private static let connectionsPerPass = 32

    let port: UInt16
    private let socket: OwnedDescriptor
    private let host: OpaquePointer
    private unowned let loop: LibraryLoop
    private let watcher: UnsafeMutablePointer<clws_readable>
    private var isWatching = false

    /// - Parameter host: The virtual host of the connections, which does not listen by itself.
    init?(_ socket: OwnedDescriptor, for host: OpaquePointer, of loop: LibraryLoop) {
        guard let port = InheritedSockets.port(of: socket.number) else { return nil }
        (self.port, self.socket, self.host, self.loop) = (port, socket, host, loop)
        watcher = .allocate(capacity: 1)
        watcher.initialize(to: clws_readable())
        watcher.pointee.ready = libraryAcceptorReady
        watcher.pointee.owner = Unmanaged.passUnretained(self).toOpaque()
    }

    deinit {
        InheritedSockets.shared.giveBack(socket)
        watcher.deallocate()
    }

    /// Accepts connections, again if it stopped for want of a descriptor.
    func start() {
        guard !isWatching, InheritedSockets.shared.isAccepting else { return }
        isWatching = true
        clws_readable_start(loop.eventLoop.loop, watcher, socket.number)
    }

    /// Leaves further connections in the socket's queue.
    func stop() {
        guard isWatching else { return }
        isWatching = false
        clws_readable_stop(loop.eventLoop.loop, watcher)
    }

    func ready() {
        for _ in 0..<LibraryAcceptor.connectionsPerPass {
            guard InheritedSockets.shared.isAccepting, !loop.queue.isStopping else { return stop() }
            let number = StreamSocket.acceptedNumber(on: socket)
            guard number >= 0 else {
                switch errno {
                // Another process may have taken the connection, or its client may have left.
                case EAGAIN, EINTR, ECONNABORTED: return
                // The event would return at once. The loop's timer starts again.
                default: return stop()
                }
            }
            guard loop.accept(descriptor: Int(number)) == 0 else {
                close(number)
                continue
            }
            var yes: Int32 = 1
            setsockopt(number, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
            // The library owns the descriptor from here on, even if it refuses the connection.
            clws_adopt(host, number)
        }
    }
}

// libev calls this function on the loop's thread. The acceptor stops before it is released.
func libraryAcceptorReady(_ owner: UnsafeMutableRawPointer?) {
    guard let owner else { return }
    Unmanaged<LibraryAcceptor>.fromOpaque(owner).takeUnretainedValue().ready()
}
#endif
