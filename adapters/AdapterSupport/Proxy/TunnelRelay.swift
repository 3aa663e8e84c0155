import Synchronization

/// Makes a tunnel available at the path of a unix socket, for a library that can connect only by itself.
///
/// The relay accepts one connection, from this process only, removes the path, and passes bytes in both directions
/// unchanged until the connection ends. It uses one thread, two buffers of 64 KiB and at most six file descriptors. A
/// full buffer stops the reading, so that the slower side slows down the faster one.
///
/// A relay is safe to use from any thread.
package final class TunnelRelay: Sendable {
    /// How long the last bytes may take to reach the proxy after ``finish()``.
    package static let grace = Duration.seconds(1)

    /// The path of the unix socket, at most 103 bytes.
    package let path: String
    private let control: RelayControl

    /// Starts the relay.
    ///
    /// - Throws: ``ProxyFailure`` `noResources`.
    package init(_ tunnel: ProxyTunnel) throws(ProxyFailure) {
        let listener = try PrivateListener()
        path = listener.path
        do throws(SystemResourceError) {
            let control = try RelayControl()
            self.control = control
            try OwnedThread { [parts = RelayParts(tunnel, listener)] in
                control.ended.set(parts.run(control))
            }.detach()
        } catch {
            throw .noResources(error.description)
        }
    }

    deinit {
        control.finish()
    }

    /// Ends the relay: at once if nothing has connected, and otherwise when the connection has closed and its last
    /// bytes are sent, at most ``grace`` after this call. Releasing the relay has the same effect.
    package func finish() {
        control.finish()
    }

    /// Fulfilled when the thread has closed all descriptors and is about to end. The value is the number of bytes of the
    /// client that the proxy did not take within ``grace``, and which are therefore lost.
    package var end: Promise<Int> { control.ended }
}

/// The state that a relay's owner and its thread share.
final class RelayControl: Sendable {
    let wake: WakeSignal
    let ended = Promise<Int>()
    private let finishing = Atomic(false)

    init() throws(SystemResourceError) {
        wake = try WakeSignal()
    }

    var isFinishing: Bool { finishing.load(ordering: .acquiring) }

    func finish() {
        finishing.store(true, ordering: .releasing)
        wake.wake()
    }
}

/// What a relay's thread owns. It takes each part out, so that the part is released as soon as it is not needed.
private final class RelayParts: Sendable {
    private let tunnel: Mutex<ProxyTunnel?>
    private let listener: Mutex<PrivateListener?>

    init(_ tunnel: ProxyTunnel, _ listener: PrivateListener) {
        self.tunnel = Mutex(tunnel)
        self.listener = Mutex(listener)
    }

    /// Waits for the connection, then passes bytes until it ends.
    ///
    /// - Returns: The number of bytes of the client that are lost.
    func run(_ control: RelayControl) -> Int {
        guard let tunnel = tunnel.withLock({ $0.take() }), let client = accepted(control) else { return 0 }
        var pump = RelayPump(client: client, tunnel: tunnel)
        return pump.run(control)
    }

    private func accepted(_ control: RelayControl) -> OwnedDescriptor? {
        guard let listener = listener.withLock({ $0.take() }) else { return nil }
        while !control.isFinishing {
            var entries = [
                pollfd(fd: listener.descriptor.number, events: Int16(POLLIN), revents: 0),
                pollfd(fd: control.wake.readEnd, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&entries, 2, -1) > 0 else {
                guard errno == EINTR else { return nil }
                continue
            }
            if entries[1].revents != 0 { control.wake.drain() }
            guard entries[0].revents != 0 else { continue }
            do throws(ProxyFailure) {
                if let client = try listener.accept() { return client }
            } catch {
                // Another wait would end at once. Without the relay, the library's connection fails.
                return nil
            }
        }
        return nil
    }
}
