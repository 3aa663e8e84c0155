internal import AdapterSupport
package import SignalboxRoutes

/// The head of a request that asks for no document. Every value except the peer's address was chosen by the client.
package struct HTTPServerRequest: Sendable {
    /// The method, such as `POST`.
    package var method = ""
    /// The path without the query. The library has percent-decoded it, resolved its dot segments, and taken a plus for a blank.
    package var path = ""
    /// The parts of the query that are not empty, in order, such as `token=abc`, decoded like a form's. Parts end at `&` and
    /// `;`.
    package var query: [String] = []
    /// The headers that the receiver asked for (``HTTPRequestReceiver/headerNames``), by lower-case name and without
    /// surrounding blanks. A header that the request lacks is absent.
    package var headers: [String: String] = [:]
    /// The peer's numeric address.
    package var peerAddress = ""
    /// Whether the request arrived over TLS.
    package var isSecure = false

    package init() {}

    /// The address by which limits of one client count: all addresses of an IPv6 network of 64 bits are one.
    package var quotaAddress: String { HTTPServerRequest.quotaAddress(of: peerAddress) }

    /// Returns the key used to count an address towards the limits.
    ///
    /// For an IPv4 address, the key is that address, even if it is mapped into IPv6. For an IPv6 address, it is the
    /// first 64 bits, because a single host may have all addresses that share them (RFC 4291, 2.5.4).
    ///
    /// - Parameter address: An address as the system formats it. Any other text is returned unchanged.
    static func quotaAddress(of address: String) -> String {
        var parsed = in6_addr()
        guard inet_pton(AF_INET6, address, &parsed) == 1 else { return address }
        return withUnsafeBytes(of: &parsed) { bytes in
            let isMapped = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
            return isMapped
                ? bytes.suffix(4).map { String($0) }.joined(separator: ".")
                : bytes.prefix(8).map { String($0, radix: 16) }.joined(separator: ":") + "/64"
        }
    }

    /// The maximum number of parts of the query. Further ones are left out.
    static let queryLimit = 256
}

/// The decision about a request whose head is complete.
package enum HTTPRequestDecision {
    /// The request has been answered by this response.
    case answer(HTTPAnswer)
    /// The body is read, at most this many bytes. A larger one is answered with 413.
    case read(limit: Int)
}

/// Handles HTTP requests.
///
/// All methods are called in order on the listener's thread, and they must not block. For each request, the listener calls
/// ``began(_:_:)``, then ``completed(_:body:)`` if the receiver wants the body and all of it arrives, and finally
/// ``ended(_:)``, exactly once.
package protocol HTTPRequestReceiver: ListenerReceiver {
    /// The headers that ``HTTPServerRequest/headers`` has to contain, in lower case.
    var headerNames: [String] { get }
    /// Returns the best route for a path, as the library decoded it, and the URL that the route matches; or `nil` if the
    /// receiver has no route for the path.
    func route(for path: String) -> (pattern: URLPattern, url: URLText)?
    /// Decides about a request.
    func began(_ request: HTTPServerRequest, _ exchange: HTTPExchangeID) -> HTTPRequestDecision
    /// Called with the whole body. The receiver answers it later, with ``HTTPAnswerer/answer(_:_:)``.
    func completed(_ exchange: HTTPExchangeID, body: [UInt8])
    /// Called when the answer has been sent, or the connection has ended.
    func ended(_ exchange: HTTPExchangeID)
    /// Called when the listener itself has refused a request, such as one with two lengths.
    func refused(status: Int, from address: String, reason: String)
}

/// Identifies a request and its answer. A process never reuses a number.
package struct HTTPExchangeID: Hashable, Sendable {
    let connection: ConnectionID

    /// The number, which is never 0.
    package var number: UInt64 { connection.number }
}

/// Answers requests. All methods can be called from any thread, and they never block. For a request that has been answered
/// or whose connection has ended, they have no effect.
package protocol HTTPAnswerer: AnyObject, Sendable {
    /// Answers a request.
    func answer(_ exchange: HTTPExchangeID, _ answer: HTTPAnswer)
    /// Begins an answer whose end is not known, with the head of this one. Its body is the first part.
    func open(_ exchange: HTTPExchangeID, _ head: HTTPAnswer)
    /// Appends a part to an answer that has begun.
    ///
    /// - Returns: Whether the part was queued. It is not if too many bytes wait, or if the connection has ended.
    func append(_ exchange: HTTPExchangeID, _ part: [UInt8]) -> HTTPPartAdmission
    /// Ends an answer that has begun, and its connection, after the parts that wait.
    func close(_ exchange: HTTPExchangeID)
    /// Interrupts the thread's wait, so that the thread soon calls the receiver's `passEnded`.
    func wake()
}

/// Whether a part of an answer was queued.
package enum HTTPPartAdmission: Sendable {
    case accepted, full, closed
}

/// A response to a request.
package struct HTTPAnswer: Equatable, Sendable {
    package var status: Int
    /// Additional headers, which contain no line ends.
    package var headers: [(name: String, value: String)]
    package var contentType: String?
    package var body: [UInt8]
    /// Whether the connection closes after the response.
    package var closes: Bool

    package init(
        status: Int,
        headers: [(name: String, value: String)] = [],
        contentType: String? = nil,
        body: [UInt8] = [],
        closes: Bool = false
    ) {
        self.status = status
        self.headers = headers
        self.contentType = contentType
        self.body = body
        self.closes = closes
    }

    /// Creates an answer with a line of text for people.
    package init(_ status: Int, _ text: String, headers: [(name: String, value: String)] = []) {
        let body = Array("\(text)\n".utf8)
        self.init(status: status, headers: headers, contentType: "text/plain; charset=utf-8", body: body)
    }

    package static func == (left: HTTPAnswer, right: HTTPAnswer) -> Bool {
        left.status == right.status && left.contentType == right.contentType && left.body == right.body
            && left.closes == right.closes && left.headers.elementsEqual(right.headers, by: ==)
    }

    /// Returns the encoded response.
    ///
    /// - Parameters:
    ///   - closes: Whether the response says that the connection closes.
    ///   - hasEnd: Whether the whole body is known, so that its length is stated.
    ///   - hasBody: Whether the body is sent. The answer to HEAD has only its length.
    func bytes(closes: Bool, hasEnd: Bool = true, hasBody: Bool = true) -> [UInt8] {
        var head = "HTTP/1.1 \(status) \(HTTPAnswer.phrase(status))\r\n"
        if let contentType { head += "Content-Type: \(contentType)\r\n" }
        // A response without content has no length either (RFC 9110, 8.6).
        if hasEnd, status != 204 { head += "Content-Length: \(body.count)\r\n" }
        head += "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
        for header in headers { head += "\(header.name): \(header.value)\r\n" }
        if closes { head += "Connection: close\r\n" }
        var bytes = Array((head + "\r\n").utf8)
        if hasBody { bytes.append(contentsOf: body) }
        return bytes
    }

    /// The reason phrase of a status (RFC 9110, 15; RFC 6585).
    private static func phrase(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 202: "Accepted"
        case 204: "No Content"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 406: "Not Acceptable"
        case 409: "Conflict"
        case 410: "Gone"
        case 411: "Length Required"
        case 413: "Content Too Large"
        case 415: "Unsupported Media Type"
        case 417: "Expectation Failed"
        case 422: "Unprocessable Content"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        default: "Status"
        }
    }
}
