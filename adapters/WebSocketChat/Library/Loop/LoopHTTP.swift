#if WebSocket
import AdapterSupport
import CLibwebsockets

extension LibraryLoop {
    /// The number of descriptors that a server leaves for the rest of the process.
    ///
    /// With fewer left, nothing else could open a file, and the library would keep trying to accept the waiting
    /// connection.
    private static let descriptorsForOthers = 32
    /// When fewer descriptors than this are free, each new connection evicts another one.
    ///
    /// The system may allow fewer descriptors than the configured limits need. Silent connections would then prevent
    /// upgrades.
    private static let descriptorsBeforeEviction = 64

    /// Decides whether a connection that the system has accepted may stay.
    ///
    /// - Returns: 0 if the connection may stay. Otherwise, the library closes it.
    func accept(descriptor: Int) -> Int32 {
        let limit = LibraryLoop.descriptorLimit
        let left = limit - descriptor
        let isExhausted = left <= LibraryLoop.descriptorsForOthers
        // If the system's limit is low, even a few connections would leave fewer than 64 descriptors free.
        let isFull = isExhausted || left <= min(LibraryLoop.descriptorsBeforeEviction, limit / 4)
        let decision = http.admit(webSockets: connections.count, isFull: isFull)
        guard !isExhausted else {
            // The next connection can use the descriptor of the evicted one.
            if decision != .refused { apply(decision) }
            destroyEvicted()
            sites.events?.descriptorsExhausted()
            return -1
        }
        let isAdmitted = apply(decision)
        destroyEvicted()
        return isAdmitted ? 0 : -1
    }

    /// Closes the connection that the decision evicts, if any, and updates the counters.
    ///
    /// - Returns: Whether the connection that the decision was made for may continue.
    @discardableResult func apply(_ decision: HTTPConnections<OpaquePointer>.Decision) -> Bool {
        switch decision {
        case .admitted: return true
        case .evicting(let handle):
            discard(handle)
            sites.events?.evicted()
            return true
        case .refused:
            sites.events?.limitReached()
            return false
        case .expired: return false
        }
    }

    /// Closes HTTP connections that have exceeded their lifetime.
    ///
    /// Evicted connections that still exist are discarded again, because at each step of a request the library replaces
    /// the timeout that closes them.
    func closeOverdueHTTP() {
        http.evictOverdue(at: .now)
        destroyEvicted()
        for handle in http.closing { discard(handle) }
    }

    /// Makes the library destroy the connection the next time it checks its timers, without sending what is buffered for it.
    func discard(_ handle: OpaquePointer) {
        lws_set_timeout(handle, PENDING_TIMEOUT_CLOSE_SEND, LWS_TO_KILL_ASYNC)
    }

    /// Destroys evicted connections right away, because the system may accept many connections before the library next
    /// checks its timers.
    ///
    /// Call this only while the library is serving the listening socket or a timer. While the library delivers buffered
    /// requests, it holds a pointer to the next connection (`lws_service_do_ripe_rxflow`).
    private func destroyEvicted() {
        // LWS_TO_KILL_SYNC would wait up to 5 s for buffered bytes to be sent.
        for handle in http.closing where lws_partial_buffered(handle) == 0 {
            lws_set_timeout(handle, PENDING_TIMEOUT_CLOSE_SEND, LWS_TO_KILL_SYNC)
        }
    }

    // MARK: - Descriptors

    private static var descriptorLimit: Int {
        var limit = rlimit()
        #if canImport(Glibc)
        let result = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        #else
        let result = getrlimit(RLIMIT_NOFILE, &limit)
        #endif
        return result == 0 ? Int(clamping: limit.rlim_cur) : .max
    }
}

extension LibraryLoop {
    /// Answers a request that does not upgrade.
    func beginRequest(_ handle: OpaquePointer, _ path: String) -> Int32 {
        guard apply(http.beginRequest(handle, at: .now)), !hasBufferedBody(handle) else { return -1 }
        // The library would apply a request's timeout to each document. The limits in `http` apply instead.
        lws_set_timeout(handle, NO_PENDING_TIMEOUT, 0)
        let isHead = lws_hdr_total_length(handle, WSI_TOKEN_HEAD_URI) > 0
        let isRead = isHead || lws_hdr_total_length(handle, WSI_TOKEN_GET_URI) > 0
        if isRead, let page = sites.page(at: path) { return begin(page, isHead: isHead, on: handle) }
        if let site = sites.site(servingAt: path), let receiver = site.requests {
            return beginExchange(handle, site, receiver)
        }
        return refuse(handle, isRead ? .notFound : .wrongMethod)
    }

    /// Ends a request, so that the next one on the connection can begin.
    ///
    /// - Returns: `false` if the connection must close.
    func completeTransaction(_ handle: OpaquePointer) -> Bool {
        guard lws_http_transaction_completed(handle) == 0 else { return false }
        // Only if it has read more input, the library keeps the memory of the headers, and this call then changes the text.
        var probe: CChar = 1
        lws_hdr_custom_copy(handle, &probe, 1, "x:", 2)
        if probe == 0 { buffering.insert(handle) }
        return true
    }

    /// Returns whether the request has a body, and the library had read it before the last request ended.
    ///
    /// libwebsockets 4.1.6 takes the head of such a request for its body, and then never returns. A client that sends requests
    /// without waiting for answers must be prepared for the connection to close (RFC 9112, 9.3.2).
    private func hasBufferedBody(_ handle: OpaquePointer) -> Bool {
        guard buffering.remove(handle) != nil else { return false }
        let isBodiless =
            lws_hdr_total_length(handle, WSI_TOKEN_HTTP_CONTENT_LENGTH) == 0
            && lws_hdr_total_length(handle, WSI_TOKEN_POST_URI) == 0
            && lws_hdr_total_length(handle, WSI_TOKEN_PUT_URI) == 0
            && lws_hdr_total_length(handle, WSI_TOKEN_PATCH_URI) == 0
        return !isBodiless
    }

    private func begin(_ page: WebSocketPage, isHead: Bool, on handle: OpaquePointer) -> Int32 {
        guard writeHead(of: page, to: handle) else { return -1 }
        pageTransfers[handle] = PageTransfer(page: page, isWritten: isHead)
        if isHead { return continuePage(handle) }
        lws_callback_on_writable(handle)
        return 0
    }

    private func writeHead(of page: WebSocketPage, to handle: OpaquePointer) -> Bool {
        let head = CLWS_PRE
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: head + 4_096) { buffer in
            guard let base = buffer.baseAddress else { return false }
            let start = base + head
            let end = base + buffer.count
            var cursor: UnsafeMutablePointer<UInt8>? = start
            let length = lws_filepos_t(page.body.count)
            guard lws_add_http_common_headers(handle, 200, page.contentType, length, &cursor, end) == 0 else {
                return false
            }
            for header in page.headers {
                let count = Int32(clamping: header.value.utf8.count)
                guard lws_add_http_header_by_name(handle, header.name + ":", header.value, count, &cursor, end) == 0
                else { return false }
            }
            if http.isLast(handle), lws_add_http_header_by_name(handle, "connection:", "close", 5, &cursor, end) != 0 {
                return false
            }
            return lws_finalize_write_http_header(handle, start, &cursor, end) == 0
        }
    }

    /// Writes the next part of a document, or ends the request once everything has been sent.
    func continuePage(_ handle: OpaquePointer) -> Int32 {
        guard var transfer = pageTransfers[handle] else { return 0 }
        if !transfer.isWritten {
            guard writePart(of: &transfer, to: handle) else { return -1 }
            pageTransfers[handle] = transfer
        }
        // While bytes are buffered, the client is still reading, so its connection counts as busy.
        guard transfer.isWritten, lws_partial_buffered(handle) == 0 else {
            lws_callback_on_writable(handle)
            return 0
        }
        pageTransfers[handle] = nil
        guard !transfer.closes, !http.isLast(handle), completeTransaction(handle) else { return -1 }
        http.answered(handle)
        return 0
    }

    private func writePart(of transfer: inout PageTransfer, to handle: OpaquePointer) -> Bool {
        let rest = transfer.page.body.dropFirst(transfer.sent).prefix(PageTransfer.stepBytes)
        transfer.sent += rest.count
        transfer.isWritten = transfer.sent == transfer.page.body.count
        let buffer = OutgoingBuffer()
        guard let start = buffer.fill(Array(rest)) else { return false }
        // The content is not compressed, so the library has sent or copied it when the call returns.
        return lws_write(handle, start, rest.count, transfer.isWritten ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) >= 0
    }
}

/// Tracks the transfer of a document to a client.
struct PageTransfer {
    let page: WebSocketPage
    var sent = 0
    /// Whether the connection closes once everything has been sent.
    var closes = false
    /// Whether the library has accepted the whole document. It may still be buffering some of it.
    var isWritten = false

    /// Returns the transfer of a response that has already been written.
    static func written(closes: Bool) -> PageTransfer {
        PageTransfer(page: WebSocketPage(contentType: "", body: []), closes: closes, isWritten: true)
    }

    /// The maximum number of bytes written at once.
    static let stepBytes = 16_384
}
#endif
