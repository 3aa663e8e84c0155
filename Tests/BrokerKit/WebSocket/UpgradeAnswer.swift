import Foundation

/// A server's proper answer to a request for an upgrade (RFC 6455, 4.2.2).
enum UpgradeAnswer {
    /// - Parameter more: further header lines.
    static func text(to request: String, adding more: [String] = []) -> String {
        let head = "sec-websocket-key:"
        let line = request.split(separator: "\r\n").first { $0.lowercased().hasPrefix(head) } ?? ""
        let key = line.dropFirst(head.count).trimmingCharacters(in: .whitespaces)
        let accept = Data(SecureHash.of(Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)))
        let lines = [
            "HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade",
            "Sec-WebSocket-Accept: \(accept.base64EncodedString())",
        ]
        return (lines + more + ["", ""]).joined(separator: "\r\n")
    }
}
