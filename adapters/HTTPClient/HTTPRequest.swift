package import SecureTransport

/// A header of a request.
package struct HTTPHeader: Sendable, Hashable {
    package let name: String
    package let value: String

    /// - Parameters:
    ///   - name: A token (RFC 9110, 5.6.2) of at most 128 bytes.
    ///   - value: Visible ASCII characters, with single spaces and tabs only between them, at most 8,192 bytes.
    /// - Returns: `nil` for other texts, so that no header can contain another one.
    package init?(_ name: String, _ value: String) {
        guard HTTPHeader.isName(name), HTTPHeader.isValue(value) else { return nil }
        self.name = name
        self.value = value
    }

    /// Whether the text is a token of at most 128 bytes.
    package static func isName(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }

    /// Whether the text can be a header's value.
    package static func isValue(_ text: String) -> Bool {
        guard (1...8_192).contains(text.utf8.count) else { return false }
        let isPrintable = text.utf8.allSatisfy { ($0 >= 0x20 && $0 < 0x7F) || $0 == 0x09 }
        let edges = [text.utf8.first, text.utf8.last]
        return isPrintable && !edges.contains(0x20) && !edges.contains(0x09)
    }

    /// Names of headers that belong to the connection or the message's framing, in lower case.
    package static let reserved: Set<String> = [
        "connection", "content-length", "expect", "host", "keep-alive", "proxy-authorization", "proxy-connection", "te",
        "trailer", "transfer-encoding", "upgrade",
    ]
}

/// How requests to secure servers use TLS, which is version 1.2 or later.
package struct HTTPSecurity: Sendable, Hashable {
    package var trust: TLSSettings.Trust
    /// The client's own certificate. Renewed files take effect with the next connection.
    package var identity: TLSSettings.Identity?

    package init(trust: TLSSettings.Trust = .system, identity: TLSSettings.Identity? = nil) {
        self.trust = trust
        self.identity = identity
    }
}

/// A request with a body, and the limits of its response.
package struct HTTPRequest: Sendable {
    package enum Method: String, Sendable, Hashable, CaseIterable {
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
        case delete = "DELETE"
    }

    package var url: HTTPURL
    package var method: Method
    package var headers: [HTTPHeader]
    package var body: [UInt8]
    /// How long everything may take, from the call to the last byte of the response.
    package var timeout: Duration
    /// How long name lookup, connection and TLS may take.
    package var connectTimeout: Duration
    /// The maximum size of the response's body, in bytes.
    package var maximumResponse: Int

    package init(
        _ url: HTTPURL,
        method: Method = .post,
        headers: [HTTPHeader] = [],
        body: [UInt8] = [],
        timeout: Duration = .seconds(30),
        connectTimeout: Duration = .seconds(10),
        maximumResponse: Int = 1 << 20
    ) {
        self.url = url
        self.method = method
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.connectTimeout = connectTimeout
        self.maximumResponse = maximumResponse
    }
}

/// A server's response.
package struct HTTPResponse: Sendable, Hashable {
    package var status: Int
    /// How long the server asks to wait before the next request, or `nil` if it does not.
    package var retryAfter: Duration?
    package var body: [UInt8]

    package init(status: Int, retryAfter: Duration? = nil, body: [UInt8] = []) {
        self.status = status
        self.retryAfter = retryAfter
        self.body = body
    }
}

/// The reason why a request has no response. Descriptions never contain a URL's path, a header or a body.
package enum HTTPClientError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The task was cancelled. The request's connection is closed.
    case cancelled
    /// Too many requests are in progress.
    case full
    /// The client has been stopped.
    case stopped
    /// The system lacks a resource, or the library cannot be used.
    case noResources(String)
    /// The server cannot be reached.
    case unreachable(String)
    /// The connection cannot be secured, or the server's certificate is not trusted.
    case insecure(String)
    /// There was no complete response within the timeout.
    case timeout(Duration)
    /// The connection ended, or what came was not HTTP. The server may have handled the request.
    case interrupted(String)
    /// The response's body is larger than the request allows, in bytes.
    case responseTooLarge(limit: Int)
    /// The response's headers are larger than any request allows, in bytes.
    case headersTooLarge(limit: Int)
    /// The server redirects to another server, which did not receive the request.
    case redirectedElsewhere(status: Int, to: String)

    package var description: String {
        switch self {
        case .cancelled: "the request was cancelled"
        case .full: "\(HTTPClient.maximumRequests) requests are in progress already"
        case .stopped: "the program is about to end"
        case .noResources(let reason): reason
        case .unreachable(let reason): "it cannot be reached: \(reason)"
        case .insecure(let reason): "the connection is not secure: \(reason)"
        case .timeout(let limit): "it did not answer within \(limit.secondsText)"
        case .interrupted(let reason): "there was no complete answer: \(reason)"
        case .responseTooLarge(let limit): "its answer is larger than \(limit) bytes"
        case .headersTooLarge(let limit): "the headers of its answer are larger than \(limit) bytes"
        case .redirectedElsewhere(let status, let place):
            "status \(status) redirects to \(place), which is not followed"
        }
    }
}

extension Duration {
    /// The duration in seconds, as precise as needed to the millisecond.
    fileprivate var secondsText: String {
        let milliseconds = components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000
        return milliseconds.isMultiple(of: 1_000) ? "\(milliseconds / 1_000) s" : "\(milliseconds) ms"
    }
}
