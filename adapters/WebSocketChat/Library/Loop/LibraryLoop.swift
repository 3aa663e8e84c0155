#if WebSocket
import AdapterSupport
import CLibwebsockets

/// A libwebsockets context and its connections. Only one thread uses it, from creation to destruction.
final class LibraryLoop: ServiceLoop {
    let queue: ServiceQueue
    let limits: TransportLimits
    let endpoint: ServerEndpoint
    var sites = LoadedSites()
    let tables: LibraryTables
    var connections: [ConnectionID: LibraryConnection] = [:]
    var paused: [ConnectionID: LibraryConnection] = [:]
    /// The buffer for messages that are written alone. Once the write returns, the library no longer needs the buffer's
    /// content.
    let outgoing: OutgoingBuffer
    /// The frames that the next write sends. Empty, except within a write callback.
    var frames: FrameBatch
    var pageTransfers: [OpaquePointer: PageTransfer] = [:]
    var exchanges = HTTPExchanges()
    /// The connections of which the library had read more when their last request ended.
    var buffering: Set<OpaquePointer> = []
    /// The HTTP connections, which are those that have not upgraded.
    var http: HTTPConnections<OpaquePointer>
    private(set) var isDestroying = false
    // The library sets this pointer to NULL when the context is destroyed.
    private let contextPointer: UnsafeMutablePointer<OpaquePointer?>
    let eventLoop: EventLoop
    /// Accepts connections, if the library does not listen by itself.
    var acceptor: LibraryAcceptor?
    private let stopping = LibraryTimer()
    private let ticking = LibraryTimer()
    private var shouldStop = false
    private var lastFound: LibraryConnection?

    private static let tickSeconds = 0.5
    // The maximum total size of the headers of a request, in bytes. Proxies and browsers rarely use half of it. The
    // library allocates this much for each connection until the connection opens.
    private static let requestBytes: UInt16 = 8_192
    // The maximum size of one read, in bytes, which is allocated for each connection.
    private static let receiveBytes = 4_096

    init(queue: ServiceQueue, limits: TransportLimits, endpoint: ServerEndpoint) throws(TransportError) {
        self.queue = queue
        self.limits = limits
        self.endpoint = endpoint
        http = HTTPConnections(endpoint.http)
        tables = LibraryTables(
            receiveBytes: LibraryLoop.receiveBytes,
            callback: libraryCallback,
            subprotocols: endpoint.subprotocols,
            limits: limits
        )
        outgoing = OutgoingBuffer(keepsContent: true)
        frames = FrameBatch(waitingBytes: limits.waitingBytes)
        contextPointer = .allocate(capacity: 1)
        contextPointer.initialize(to: nil)
        guard let eventLoop = EventLoop() else {
            throw TransportError(code: .noResources, description: SystemResourceError.descriptor.description)
        }
        self.eventLoop = eventLoop
        var info = lws_context_creation_info()
        info.pt_serv_buf_size = UInt32(LibraryLoop.receiveBytes)
        info.options = UInt64(
            LWS_SERVER_OPTION_EXPLICIT_VHOSTS | LWS_SERVER_OPTION_SKIP_SERVER_CANONICAL_NAME
                | LWS_SERVER_OPTION_LIBEV
        )
        info.user = Unmanaged.passUnretained(self).toOpaque()
        info.pcontext = contextPointer
        info.timeout_secs = limits.connectWithin
        info.max_http_header_data = LibraryLoop.requestBytes
        info.gid = -1
        info.uid = -1
        var foreign: [UnsafeMutableRawPointer?] = [UnsafeMutableRawPointer(eventLoop.loop)]
        let made = foreign.withUnsafeMutableBufferPointer { loops in
            info.foreign_loops = loops.baseAddress
            return ContextFactory.make(&info)
        }
        guard let context = made else {
            throw TransportError(
                code: .noResources,
                description:
                    "libwebsockets could not be set up: too little memory, too few descriptors, or no plug-in for libev "
                    + "(package libwebsockets-evlib-ev)"
            )
        }
        contextPointer.pointee = context
        eventLoop.start(context)
    }

    deinit {
        contextPointer.deallocate()
    }

    /// The context, or `nil` once it has been destroyed.
    var context: OpaquePointer? { contextPointer.pointee }

    /// Serves connections until the queue is stopped, and then destroys the context.
    func run() {
        guard let context else { return }
        let address = UInt(bitPattern: context)
        // This is the only library call that other threads may make. The queue's lock makes sure that the context is not
        // destroyed during the call.
        queue.attach { lws_cancel_service(OpaquePointer(bitPattern: address)) }
        tick()
        // The thread could not be woken before this point, so some commands may already be pending.
        endPass()
        performCommands()
        while !shouldStop {
            eventLoop.runOnce()
            // What the end of the pass causes here, such as the answers of plugins that run inline, needs no wake-up.
            queue.awake()
            endPass()
            performCommands()
            outgoing.release()
        }
        destroy(context)
    }

    private func endPass() {
        for site in sites.all { site.events.passEnded() }
    }

    private func tick() {
        guard let context else { return }
        ticking.start(context, seconds: LibraryLoop.tickSeconds) { [unowned self] in
            watchPaused()
            watchExchanges()
            closeOverdueHTTP()
            if !queue.isStopping { acceptor?.start() }
            for site in sites.all { site.events.ticked() }
            cutLeavingSites()
            tick()
        }
    }

    /// Destroys the context, even if its loop has never run.
    func destroy(_ context: OpaquePointer) {
        for entry in queue.detach() {
            if case .site(let command) = entry { command.abandon() }
        }
        stopping.stop(context)
        ticking.stop(context)
        acceptor?.stop()
        isDestroying = true
        eventLoop.stop()
        ContextFactory.destroy(context)
        // The library needs the loop to close its handles. Contexts that wait for this are destroyed by the second call.
        var budget = 100
        while contextPointer.pointee != nil && budget > 0 {
            eventLoop.runPending()
            budget -= 1
        }
        if let left = contextPointer.pointee { ContextFactory.destroy(left) }
        for connection in Array(connections.values) { finish(connection, connection.closeReason ?? .stopped) }
        endAllExchanges()
        endPass()
        for site in sites.all { site.left?() }
    }

    // MARK: - Connections

    func connection(of handle: OpaquePointer) -> LibraryConnection? {
        let number = UInt64(UInt(bitPattern: lws_get_opaque_user_data(handle)))
        guard number != 0 else { return nil }
        if let lastFound, lastFound.id.number == number { return lastFound }
        lastFound = connections[ConnectionID(number: number)]
        return lastFound
    }

    /// Reports the end of a connection to the receiver, exactly once.
    func finish(_ connection: LibraryConnection, _ reason: DisconnectReason) {
        guard connections.removeValue(forKey: connection.id) != nil else { return }
        if lastFound === connection { lastFound = nil }
        paused[connection.id] = nil
        connection.handle = nil
        queue.closed(connection.id)
        connection.receiver.closed(connection.id, reason)
        connection.site.members -= 1
        removeIfLeft(connection.site)
    }

    func open(_ connection: LibraryConnection) {
        connection.phase = .open
        connection.handshake.isCompressed = connection.agreement != nil
        queue.opened(connection.id, limit: connection.site.site.traits.waitingBytes)
        connection.receiver.opened(connection.id, connection.handshake)
        if connection.cut != nil, let handle = connection.handle { lws_callback_on_writable(handle) }
    }

    // MARK: - Stopping

    /// Stops the loop of a stopped queue once there are no connections left, or once the peers have had enough time to
    /// answer.
    func stopIfDone() {
        guard queue.isStopping, !shouldStop, let context else { return }
        if !stopping.isRunning {
            for connection in Array(connections.values) { cut(connection, .goingAway, reason: "") }
            endStreams(of: nil)
            stopping.start(context, seconds: limits.closeTimeoutSeconds) { [unowned self] in shouldStop = true }
        }
        if connections.isEmpty && exchanges.isEmpty { shouldStop = true }
    }
}

extension LibraryLoop {
    /// Handles a callback on the service's thread. If the result is not 0, the library closes the connection.
    func callback(
        _ handle: OpaquePointer,
        _ reason: lws_callback_reasons,
        _ input: UnsafeMutableRawPointer?,
        _ length: Int
    ) -> Int32 {
        switch reason {
        case LWS_CALLBACK_RECEIVE:
            return received(handle, UnsafeRawBufferPointer(start: input, count: input == nil ? 0 : length))
        case LWS_CALLBACK_SERVER_WRITEABLE:
            return writable(handle)
        case LWS_CALLBACK_RECEIVE_PONG:
            ponged(handle)
        case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
            return peerClosed(handle, input, length)
        case LWS_CALLBACK_CLOSED:
            closed(handle)
        case LWS_CALLBACK_WSI_DESTROY:
            pageTransfers[handle] = nil
            endExchange(of: handle)
            buffering.remove(handle)
            http.remove(handle)
            // Most connections have already ended at this point, but not one that has never opened.
            if let connection = connection(of: handle) {
                finish(connection, connection.closeReason ?? defaultCloseReason(of: connection))
            }
        default:
            return serverCallback(handle, reason, input, length)
        }
        return 0
    }

    private func closed(_ handle: OpaquePointer) {
        guard let connection = connection(of: handle) else { return }
        finish(connection, connection.closeReason ?? closedByLibrary(handle) ?? defaultCloseReason(of: connection))
    }

    // The library answers violations of RFC 6455 with a close frame, and keeps the beginning of that frame.
    private func closedByLibrary(_ handle: OpaquePointer) -> DisconnectReason? {
        guard lws_get_close_length(handle) >= 2, let payload = lws_get_close_payload(handle) else { return nil }
        let code = CloseCode(number: UInt16(payload[0]) << 8 | UInt16(payload[1]))
        guard code == .protocolError || code == .invalidPayload else { return nil }
        return .protocolViolation(code)
    }

    private func defaultCloseReason(of connection: LibraryConnection) -> DisconnectReason {
        if isDestroying { return .stopped }
        return connection.cut?.closeReason ?? .lost
    }
}

// libwebsockets calls these functions on the service's thread, either within a pass of the loop or while it creates or
// destroys a context. The context's user data is the `LibraryLoop`, which its thread retains until the context is
// destroyed. All pointers are valid only during the call. The functions are global because a closure literal would
// inherit the isolation of its enclosing type.

func libraryCallback(
    _ handle: OpaquePointer?,
    _ reason: lws_callback_reasons,
    _ user: UnsafeMutableRawPointer?,
    _ input: UnsafeMutableRawPointer?,
    _ length: Int
) -> Int32 {
    guard let handle, let context = lws_get_context(handle), let owner = lws_context_user(context) else { return 0 }
    return Unmanaged<LibraryLoop>.fromOpaque(owner)._withUnsafeGuaranteedRef { loop in
        loop.callback(handle, reason, input, length)
    }
}

func libraryTimerFired(_ owner: UnsafeMutableRawPointer?) {
    guard let owner else { return }
    Unmanaged<LibraryTimer>.fromOpaque(owner).takeUnretainedValue().fired()
}
#endif
