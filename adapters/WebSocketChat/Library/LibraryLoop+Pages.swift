import CLibwebsockets

extension LibraryLoop {
    /// Answers a request that is no upgrade.
    func beginPage(_ handle: OpaquePointer, _ path: String) -> Int32 {
        guard apply(http.beginRequest(handle, at: .now)) else { return -1 }
        // The library would allow each document as long as a request; `http` limits it instead.
        lws_set_timeout(handle, NO_PENDING_TIMEOUT, 0)
        let isHead = lws_hdr_total_length(handle, WSI_TOKEN_HEAD_URI) > 0
        guard isHead || lws_hdr_total_length(handle, WSI_TOKEN_GET_URI) > 0 else { return refuse(handle, .wrongMethod) }
        guard let page = server?.place.pages[path] else { return refuse(handle, .notFound) }
        guard writeHead(of: page, to: handle) else { return -1 }
        pagesUnderWay[handle] = PageTransfer(page: page, isWritten: isHead)
        if isHead { return continuePage(handle) }
        lws_callback_on_writable(handle)
        return 0
    }

    private func writeHead(of page: ServedPage, to handle: OpaquePointer) -> Bool {
        let head = CLWS_PRE
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: head + 4_096) { buffer in
            guard let base = buffer.baseAddress else { return false }
            let start = base + head
            let end = base + buffer.count
            var place: UnsafeMutablePointer<UInt8>? = start
            let length = lws_filepos_t(page.body.count)
            guard lws_add_http_common_headers(handle, 200, page.contentType, length, &place, end) == 0 else {
                return false
            }
            for header in page.headers {
                let count = Int32(clamping: header.value.utf8.count)
                guard lws_add_http_header_by_name(handle, header.name + ":", header.value, count, &place, end) == 0
                else { return false }
            }
            if http.isLast(handle), lws_add_http_header_by_name(handle, "connection:", "close", 5, &place, end) != 0 {
                return false
            }
            return lws_finalize_write_http_header(handle, start, &place, end) == 0
        }
    }

    /// Writes the next part of a document, or ends the request when all of it has been sent.
    func continuePage(_ handle: OpaquePointer) -> Int32 {
        guard var transfer = pagesUnderWay[handle] else { return 0 }
        if !transfer.isWritten {
            guard writePart(of: &transfer, to: handle) else { return -1 }
            pagesUnderWay[handle] = transfer
        }
        // While bytes are buffered the client is still reading, and its connection counts as busy.
        guard transfer.isWritten, lws_partial_buffered(handle) == 0 else {
            lws_callback_on_writable(handle)
            return 0
        }
        pagesUnderWay[handle] = nil
        guard !http.isLast(handle), lws_http_transaction_completed(handle) == 0 else { return -1 }
        http.answered(handle)
        return 0
    }

    private func writePart(of transfer: inout PageTransfer, to handle: OpaquePointer) -> Bool {
        let rest = transfer.page.body.dropFirst(transfer.sent).prefix(PageTransfer.stepBytes)
        transfer.sent += rest.count
        transfer.isWritten = transfer.sent == transfer.page.body.count
        let buffer = OutgoingBuffer()
        guard let start = buffer.fill(Array(rest)) else { return false }
        // Not compressed, so the library is done with the buffer, or has copied it, when the call returns.
        return lws_write(handle, start, rest.count, transfer.isWritten ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) >= 0
    }
}
