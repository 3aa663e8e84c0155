/// An HTTP answer that is neither an upgrade nor a document, and after which the connection closes.
struct HTTPRefusal: Equatable, Sendable {
    let status: Int
    /// The reason phrase of the status (RFC 9110, 15).
    let phrase: String
    /// A single line of text for people to read.
    let text: String
    /// Additional headers, without line ends.
    var headers: [String] = []

    /// Returns the encoded response. The response to a HEAD request has no text.
    func bytes(withText: Bool) -> [UInt8] {
        let body = text + "\n"
        let lines =
            [
                "HTTP/1.1 \(status) \(phrase)", "Content-Type: text/plain; charset=utf-8",
                "Content-Length: \(body.utf8.count)", "Cache-Control: no-store", "X-Content-Type-Options: nosniff",
                "Connection: close",
            ] + headers
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n" + (withText ? body : "")).utf8)
    }

    static let unauthorized = HTTPRefusal(
        status: 401,
        phrase: "Unauthorized",
        text: "A bearer token is required.",
        headers: ["WWW-Authenticate: Bearer"]
    )
    static let forbidden = HTTPRefusal(status: 403, phrase: "Forbidden", text: "Access is denied for this client.")
    static let notFound = HTTPRefusal(status: 404, phrase: "Not Found", text: "There is no resource at this path.")
    static let wrongMethod = HTTPRefusal(
        status: 405,
        phrase: "Method Not Allowed",
        text: "Only GET and HEAD are allowed.",
        headers: ["Allow: GET, HEAD"]
    )
    static let wrongVersion = HTTPRefusal(
        status: 426,
        phrase: "Upgrade Required",
        text: "Only version 13 of the WebSocket protocol is supported.",
        headers: ["Upgrade: websocket", "Sec-WebSocket-Version: 13"]
    )
    static let unavailable = HTTPRefusal(
        status: 503,
        phrase: "Service Unavailable",
        text: "There are too many connections. Try again later."
    )

    static func malformed(_ text: String) -> HTTPRefusal {
        HTTPRefusal(status: 400, phrase: "Bad Request", text: text)
    }

    static func tooLarge(_ text: String) -> HTTPRefusal {
        HTTPRefusal(status: 431, phrase: "Request Header Fields Too Large", text: text)
    }
}
