import CLibwebsockets

extension LibraryLoop {
    /// Answers a request that is no upgrade.
    func beginPage(_ handle: OpaquePointer, _ path: String) -> Int32 {
        let isHead = lws_hdr_total_length(handle, WSI_TOKEN_HEAD_URI) > 0
        guard isHead || lws_hdr_total_length(handle, WSI_TOKEN_GET_URI) > 0 else { return refuse(handle, .wrongMethod) }
        guard let page = server?.place.pages[path] else { return refuse(handle, .notFound) }
        guard writeHead(of: page, to: handle) else { return -1 }
        if isHead { return lws_http_transaction_completed(handle) == 0 ? 0 : -1 }
        pagesUnderWay[handle] = PageTransfer(page: page)
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
            return lws_finalize_write_http_header(handle, start, &place, end) == 0
        }
    }

    /// Writes the next of a document's bytes.
    func continuePage(_ handle: OpaquePointer) -> Int32 {
        guard var transfer = pagesUnderWay[handle] else { return 0 }
        let rest = transfer.page.body.dropFirst(transfer.sent).prefix(PageTransfer.stepBytes)
        transfer.sent += rest.count
        let isLast = transfer.sent == transfer.page.body.count
        let buffer = OutgoingBuffer()
        guard let start = buffer.fill(Array(rest)) else { return -1 }
        // Not compressed, so the library is done with the buffer, or has copied it, when the call returns.
        guard lws_write(handle, start, rest.count, isLast ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) >= 0 else {
            return -1
        }
        if isLast {
            pagesUnderWay[handle] = nil
            return lws_http_transaction_completed(handle) == 0 ? 0 : -1
        }
        pagesUnderWay[handle] = transfer
        lws_callback_on_writable(handle)
        return 0
    }
}
