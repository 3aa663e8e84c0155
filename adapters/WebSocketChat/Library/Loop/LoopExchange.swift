#if WebSocket
import AdapterSupport
import CLibwebsockets

extension LibraryLoop {
    /// Begins a request that a site handles. If the result is not 0, the library closes the connection.
    func beginExchange(
        _ handle: OpaquePointer,
        _ site: LoadedSite,
        _ receiver: any HTTPRequestReceiver
    ) -> Int32 {
        let head = RequestHead(of: handle)
        let (framing, path): (BodyFraming, String)
        do throws(HTTPRefusal) {
            (framing, path) = (try head.framing(), try head.path())
            guard !queue.isStopping else { throw .stopping }
        } catch {
            receiver.refused(status: error.status, from: LibraryLoop.peerAddress(of: handle), reason: error.text)
            return refuse(handle, error)
        }
        let id = HTTPExchangeID(connection: .next())
        switch receiver.began(head.request(path, headers: receiver.headerNames), id) {
        case .answer(let answer):
            receiver.ended(id)
            return answerAtOnce(handle, answer, isHead: head.method == "HEAD", unreadBody: framing != .none)
        case .read(let limit):
            let exchange = HTTPExchange(id, handle, of: site, receiver, limit: limit)
            exchange.isHead = head.method == "HEAD"
            exchanges.add(exchange)
            site.members += 1
            return read(framing, of: exchange, expectation: head.header("expect"))
        }
    }

    /// Answers a request whose body, if it has one, is not read. The connection cannot be used again then.
    private func answerAtOnce(
        _ handle: OpaquePointer,
        _ answer: HTTPAnswer,
        isHead: Bool,
        unreadBody: Bool
    ) -> Int32 {
        let closes = unreadBody || answer.closes || http.isLast(handle)
        guard LibraryLoop.write(answer.bytes(closes: closes, hasBody: !isHead), handle), !closes else { return -1 }
        pageTransfers[handle] = .written(closes: false)
        lws_callback_on_writable(handle)
        return 0
    }

    private func read(_ framing: BodyFraming, of exchange: HTTPExchange, expectation: String?) -> Int32 {
        let handle = exchange.handle
        switch framing {
        case .none: complete(exchange)
        case .length(let length):
            guard length <= exchange.limit else { return end(exchange, with: .contentTooLarge(exchange.limit)) }
            exchange.body.reserveCapacity(min(length, LibraryLoop.reservedBytes))
        case .chunked:
            exchange.chunks = ChunkedBody(limit: exchange.limit)
            exchange.closes = true
        }
        guard framing != .none, let expectation else { return 0 }
        guard expectation.lowercased() == "100-continue" else { return end(exchange, with: .wrongExpectation) }
        let isWritten = LibraryLoop.write(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8), handle)
        // The answer must not overtake what the library buffers.
        return isWritten && lws_partial_buffered(handle) == 0 ? 0 : -1
    }

    // The number of bytes for which room is made before they arrive, as a client may state more than it sends.
    private static let reservedBytes = 65_536

    // MARK: - Body

    func receivedBody(_ handle: OpaquePointer, _ bytes: UnsafeRawBufferPointer) -> Int32 {
        guard let exchange = exchanges[handle], exchange.phase == .readingBody else { return 0 }
        guard exchange.chunks != nil else {
            guard bytes.count <= exchange.limit - exchange.body.count else {
                return end(exchange, with: .contentTooLarge(exchange.limit))
            }
            exchange.body.append(contentsOf: bytes)
            return 0
        }
        switch exchange.chunks?.add(bytes) {
        case .incomplete, nil: return 0
        case .complete:
            exchange.body = exchange.chunks?.body ?? []
            exchange.chunks = nil
            complete(exchange)
            return 0
        case .tooLarge: return end(exchange, with: .contentTooLarge(exchange.limit))
        case .malformed(let text): return end(exchange, with: .malformed(text))
        }
    }

    /// Called when the stated length has been read. The library may call this again.
    func completedBody(_ handle: OpaquePointer) -> Int32 {
        if let exchange = exchanges[handle], exchange.phase == .readingBody, exchange.chunks == nil {
            complete(exchange)
        }
        return 0
    }

    private func complete(_ exchange: HTTPExchange) {
        exchange.phase = .waiting
        http.hold(exchange.handle)
        lws_set_timeout(exchange.handle, NO_PENDING_TIMEOUT, 0)
        // Otherwise, the next request on the connection would be taken for more of this one's body. While the library does not
        // read, it does not write either.
        lws_rx_flow_control(exchange.handle, 0)
        let body = exchange.body
        exchange.body = []
        exchange.receiver.completed(exchange.id, body: body)
    }

    /// Refuses a request whose body is not read to its end.
    private func end(_ exchange: HTTPExchange, with refusal: HTTPRefusal) -> Int32 {
        let address = LibraryLoop.peerAddress(of: exchange.handle)
        exchange.receiver.refused(status: refusal.status, from: address, reason: refusal.text)
        endExchange(of: exchange.handle)
        return refuse(exchange.handle, refusal)
    }

    // The library has sent or copied the bytes when the call returns.
    private static func write(_ bytes: [UInt8], _ handle: OpaquePointer) -> Bool {
        let buffer = OutgoingBuffer()
        guard let start = buffer.fill(bytes) else { return false }
        return lws_write(handle, start, bytes.count, LWS_WRITE_HTTP) >= 0
    }

    // MARK: - End

    /// Reports the end of a connection's request, if it has one.
    func endExchange(of handle: OpaquePointer) {
        guard let exchange = exchanges.remove(handle) else { return }
        exchange.writability.stop(eventLoop)
        queue.closed(exchange.id.connection)
        exchange.receiver.ended(exchange.id)
        exchange.site.members -= 1
        removeIfLeft(exchange.site)
    }

    func endAllExchanges() {
        for exchange in exchanges.all { endExchange(of: exchange.handle) }
    }

    /// Ends the answers without a known end, of one site or of all.
    func endStreams(of site: LoadedSite?) {
        for exchange in exchanges.all where exchange.phase == .streaming && (site == nil || exchange.site === site) {
            perform(.close, on: exchange.id)
        }
    }
}
#endif
