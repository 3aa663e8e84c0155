#if WebSocket
import CLibwebsockets

/// How the length of a request's body is known (RFC 9112, 6).
enum BodyFraming: Equatable {
    /// The request has no body.
    case none
    case length(Int)
    case chunked
}

/// Reads the head of a request from the library.
struct RequestHead {
    private let handle: OpaquePointer

    /// The methods, in the order in which they are looked for. The library drops connections with any other.
    private static let methods = [
        ("POST", WSI_TOKEN_POST_URI), ("GET", WSI_TOKEN_GET_URI), ("HEAD", WSI_TOKEN_HEAD_URI),
        ("OPTIONS", WSI_TOKEN_OPTIONS_URI), ("PUT", WSI_TOKEN_PUT_URI), ("PATCH", WSI_TOKEN_PATCH_URI),
        ("DELETE", WSI_TOKEN_DELETE_URI),
    ]

    /// The headers that the library knows. It stores all others by name.
    private static let tokens = [
        "accept": WSI_TOKEN_HTTP_ACCEPT, "authorization": WSI_TOKEN_HTTP_AUTHORIZATION,
        "content-encoding": WSI_TOKEN_HTTP_CONTENT_ENCODING, "content-length": WSI_TOKEN_HTTP_CONTENT_LENGTH,
        "content-type": WSI_TOKEN_HTTP_CONTENT_TYPE, "expect": WSI_TOKEN_HTTP_EXPECT, "host": WSI_TOKEN_HOST,
        "origin": WSI_TOKEN_ORIGIN, "transfer-encoding": WSI_TOKEN_HTTP_TRANSFER_ENCODING,
        "user-agent": WSI_TOKEN_HTTP_USER_AGENT, "x-forwarded-for": WSI_TOKEN_X_FORWARDED_FOR,
    ]

    init(of handle: OpaquePointer) {
        self.handle = handle
    }

    var method: String {
        RequestHead.methods.first { lws_hdr_total_length(handle, $0.1) > 0 }?.0 ?? "CONNECT"
    }

    /// Returns a header without surrounding blanks, or `nil` if the request lacks it. If a header that the library knows is
    /// repeated, its values are joined with commas; of any other, the first value counts.
    ///
    /// - Parameter name: The name in lower case.
    func header(_ name: String) -> String? {
        if let token = RequestHead.tokens[name] { return LibraryText.header(token, of: handle) }
        return LibraryText.header(named: name, of: handle)
    }

    /// The maximum length of a path, in bytes.
    private static let pathLimit = 1_024

    /// Returns the path, percent-decoded and without dot segments. A plus is a blank.
    ///
    /// - Throws: A refusal if the path has `;` or `&`, at which the library cuts it, or is otherwise not what the client sent.
    func path() throws(HTTPRefusal) -> String {
        guard let token = RequestHead.methods.first(where: { lws_hdr_total_length(handle, $0.1) > 0 })?.1,
            let path = LibraryText.whole(token, of: handle), !LibraryText.isRepeated(token, of: handle),
            path.utf8.count <= RequestHead.pathLimit, HeaderField.isLine(path), !path.contains("\u{FFFD}")
        else { throw .malformed("The path is too long, or has ;, & or a control character.") }
        return path
    }

    func request(_ path: String, headers names: [String]) -> HTTPServerRequest {
        var request = HTTPServerRequest()
        request.method = method
        request.path = path
        request.query = LibraryText.queryParts(of: handle, limit: HTTPServerRequest.queryLimit)
        for name in names { request.headers[name] = header(name) }
        request.peerAddress = LibraryLoop.peerAddress(of: handle)
        request.isSecure = lws_is_ssl(handle) != 0
        return request
    }

    /// Returns how the length of the body is known.
    ///
    /// A request that two servers could read differently is refused, and so is a body without a known end (RFC 9112, 6.3 and
    /// 11.2).
    func framing() throws(HTTPRefusal) -> BodyFraming {
        for name in ["content-length", "transfer-encoding", "host", "authorization", "content-type", "expect"] {
            guard let token = RequestHead.tokens[name], LibraryText.isRepeated(token, of: handle) else { continue }
            throw .malformed("The header \(name) may occur only once.")
        }
        for name in RequestHead.tokens.keys where !HeaderField.isLine(header(name) ?? "") {
            throw .malformed("A header contains a control character.")
        }
        guard header("host")?.isEmpty == false else { throw .malformed("The header Host is missing.") }
        let isBodiless = !["POST", "PUT", "PATCH"].contains(method)
        if let coding = header("transfer-encoding") {
            guard header("content-length") == nil else {
                throw .malformed("A request must not have both Content-Length and Transfer-Encoding.")
            }
            guard coding.lowercased() == "chunked", !isBodiless else {
                throw .malformed("The only supported transfer coding is chunked, of a request with a body.")
            }
            return .chunked
        }
        guard let text = header("content-length") else {
            guard isBodiless else { throw .lengthRequired }
            return .none
        }
        // The library reads the number again, from a buffer into which further blanks do not fit.
        let isPlain = Int(lws_hdr_total_length(handle, WSI_TOKEN_HTTP_CONTENT_LENGTH)) == text.utf8.count
        guard isPlain, (1...15).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let length = Int(text)
        else { throw .malformed("Content-Length is not a number.") }
        guard isBodiless else { return .length(length) }
        guard length == 0 else { throw .malformed("A request with this method must not have a body.") }
        return .none
    }
}

extension HTTPRefusal: Error {}

extension HTTPRefusal {
    static let lengthRequired = HTTPRefusal(
        status: 411,
        phrase: "Length Required",
        text: "Send Content-Length, or Transfer-Encoding: chunked."
    )
    static let wrongExpectation = HTTPRefusal(
        status: 417,
        phrase: "Expectation Failed",
        text: "The only supported expectation is 100-continue."
    )
    static let stopping = HTTPRefusal(
        status: 503,
        phrase: "Service Unavailable",
        text: "The server is stopping. Try again later.",
        headers: ["Retry-After: 1"]
    )

    static func contentTooLarge(_ limit: Int) -> HTTPRefusal {
        HTTPRefusal(status: 413, phrase: "Content Too Large", text: "The body may have at most \(limit) bytes.")
    }
}
#endif
