#if WebSocket
import CLibwebsockets

/// Reads the headers of a request.
enum LibraryText {
    // Stands for a header that is present but cannot be read. It equals no allowed value.
    private static let broken = "\u{FFFD}"

    /// Returns a header without surrounding blanks, or `nil` if the header is absent.
    ///
    /// If the header is repeated, its values are joined with commas. Invalid UTF-8 is replaced by U+FFFD. The text is
    /// never truncated, because the library drops connections whose headers exceed its limit.
    static func header(_ token: lws_token_indexes, of handle: OpaquePointer) -> String? {
        whole(token, of: handle).map { Array($0.utf8).withUnsafeBytes(trimmed) }
    }

    /// Returns the value without trimming it. Use this for the path, which is not a header.
    static func whole(_ token: lws_token_indexes, of handle: OpaquePointer) -> String? {
        let length = Int(lws_hdr_total_length(handle, token))
        guard length > 0 else { return isEmpty(token, of: handle) ? "" : nil }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: length + 1) { buffer in
            guard let start = buffer.baseAddress else { return broken }
            let copied = lws_hdr_copy(handle, start, Int32(clamping: length + 1), token)
            guard copied == length else { return broken }
            return String(decoding: UnsafeRawBufferPointer(start: start, count: length), as: UTF8.self)
        }
    }

    private static func isEmpty(_ token: lws_token_indexes, of handle: OpaquePointer) -> Bool {
        var end: CChar = 0
        return lws_hdr_copy_fragment(handle, &end, 1, token, 0) == 0
    }

    /// Returns a header that the library does not know, without surrounding blanks, or `nil` if the request lacks it.
    ///
    /// - Parameter name: The name in lower case.
    static func header(named name: String, of handle: OpaquePointer) -> String? {
        let key = name + ":"
        let count = Int32(clamping: key.utf8.count)
        let length = Int(lws_hdr_custom_length(handle, key, count))
        guard length >= 0 else { return nil }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: length + 1) { buffer in
            guard let start = buffer.baseAddress else { return broken }
            let copied = lws_hdr_custom_copy(handle, start, Int32(clamping: length + 1), key, count)
            guard copied == length else { return broken }
            return trimmed(UnsafeRawBufferPointer(start: start, count: length))
        }
    }

    /// Returns whether a header occurs more than once.
    static func isRepeated(_ token: lws_token_indexes, of handle: OpaquePointer) -> Bool {
        fragment(1, of: token, of: handle) != nil
    }

    private static func trimmed(_ bytes: UnsafeRawBufferPointer) -> String {
        func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        let head = bytes.drop(while: isBlank)
        let end = head.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? head.startIndex
        return String(decoding: head[head.startIndex..<end], as: UTF8.self)
    }

    /// Returns the members of a list (RFC 9110, 5.6.1).
    static func list(_ header: String) -> [String] {
        header.split(separator: ",").compactMap { part in
            let member = Array(part.utf8).withUnsafeBytes(trimmed)
            return member.isEmpty ? nil : member
        }
    }

    /// Returns the part of the query at the given index.
    static func queryPart(_ index: Int, of handle: OpaquePointer) -> String? {
        fragment(index, of: WSI_TOKEN_HTTP_URI_ARGS, of: handle).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Returns the parts of the query that are not empty.
    static func queryParts(of handle: OpaquePointer, limit: Int) -> [String] {
        var parts: [String] = []
        var index = 0
        while parts.count < limit, let part = fragment(index, of: WSI_TOKEN_HTTP_URI_ARGS, of: handle) {
            if !part.isEmpty { parts.append(part) }
            index += 1
        }
        return parts
    }

    // Returns one of the parts in which the library received the value, or `nil` if there are fewer.
    private static func fragment(_ index: Int, of token: lws_token_indexes, of handle: OpaquePointer) -> String? {
        let length = Int(lws_hdr_total_length(handle, token))
        guard length > 0 else { return nil }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: length + 1) { buffer in
            guard let start = buffer.baseAddress else { return nil }
            let capacity = Int32(clamping: length + 1)
            let copied = lws_hdr_copy_fragment(handle, start, capacity, token, Int32(clamping: index))
            guard copied >= 0 else { return nil }
            return String(decoding: UnsafeRawBufferPointer(start: start, count: Int(copied)), as: UTF8.self)
        }
    }
}
#endif
