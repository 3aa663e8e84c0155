/// An HTTP answer that is neither an upgrade nor a document. The connection closes after it.
struct HTTPRefusal: Equatable {
    let status: Int
    /// The words beside the status (RFC 9110, 15).
    let phrase: String
    /// One line for people.
    let text: String
    /// Further headers, without line ends.
    var headers: [String] = []

    /// The answer as it is sent, for HEAD without its text.
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
        text: "A bearer token is needed here.",
        headers: ["WWW-Authenticate: Bearer"]
    )
    static let forbidden = HTTPRefusal(status: 403, phrase: "Forbidden", text: "This is not for this client.")
    static let notFound = HTTPRefusal(status: 404, phrase: "Not Found", text: "There is nothing here.")
    static let wrongMethod = HTTPRefusal(
        status: 405,
        phrase: "Method Not Allowed",
        text: "Only GET is answered here.",
        headers: ["Allow: GET, HEAD"]
    )
    static let wrongVersion = HTTPRefusal(
        status: 426,
        phrase: "Upgrade Required",
        text: "Only version 13 of the WebSocket protocol is spoken here.",
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
