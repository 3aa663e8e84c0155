public import SignalboxCore
public import SignalboxRoutes

/// What a source of HTTP requests knows about the origin of a message.
///
/// The encoded form contains every public fact that is present.
public struct HTTPActionFacts: OriginFacts {
    /// The kind `http`.
    public static let kind = "http"

    // The trace context is not encoded, as its sender is not trusted.
    private enum CodingKeys: String, CodingKey { case method, path, query, contentType, peer, principal, origin, tls }

    /// The method, `POST` or `GET`.
    public let method: String
    /// The path, percent-encoded, without the query.
    public let path: String
    /// The query, percent-encoded, or `nil` if the request has none. It contains only the items that become members of the
    /// body.
    public internal(set) var query: String?
    /// The media type of the body, in lower case and without parameters, or `nil` if the request does not state it.
    public internal(set) var contentType: String?
    /// The client's numeric address.
    public let peer: String
    /// The principal of the client's token or signature, or `nil` if it has neither.
    public internal(set) var principal: String?
    /// The origin of the page that sent the request, if it is one of those allowed.
    ///
    /// Programs other than browsers can send any origin, so the origin alone proves nothing about them.
    public let origin: WebOrigin?
    /// Whether the connection is encrypted.
    public let tls: Bool
    /// The headers `traceparent` and `tracestate`.
    let trace: [String: String]

    init(
        method: String,
        path: String,
        peer: String,
        origin: WebOrigin? = nil,
        tls: Bool = false,
        trace: [String: String] = [:]
    ) {
        self.method = method
        self.path = path
        self.peer = peer
        self.origin = origin
        self.tls = tls
        self.trace = trace
    }

    /// Whether the message's bytes are a form, whose fields are members of the body.
    package var hasForm: Bool { contentType == MediaType.form }
}

extension HTTPActionFacts: Decodable {
    /// Decodes facts that were encoded as described above.
    ///
    /// - Throws: `DecodingError` if a fact is missing, has another type, or is no origin.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let origin = try container.decodeIfPresent(String.self, forKey: .origin)
        self.init(
            method: try container.decode(String.self, forKey: .method),
            path: try container.decode(String.self, forKey: .path),
            peer: try container.decode(String.self, forKey: .peer),
            origin: try origin.map { try WebOrigin($0) },
            tls: try container.decode(Bool.self, forKey: .tls)
        )
        query = try container.decodeIfPresent(String.self, forKey: .query)
        contentType = try container.decodeIfPresent(String.self, forKey: .contentType)
        principal = try container.decodeIfPresent(String.self, forKey: .principal)
    }
}

extension HTTPActionFacts: TraceCarrying {
    /// Returns the request's header `traceparent` or `tracestate`.
    public func traceValue(forKey key: String) -> String? { trace[key] }
}

extension AccessRule {
    /// A rule that permits requests with the token or the signature of the given principal.
    ///
    /// - Parameters:
    ///   - principal: The principal's name in the source's configuration.
    ///   - source: The required source, or `nil` for any source of HTTP requests.
    public static func http(principal: String, source: SourceName? = nil) -> AccessRule {
        http("HTTP of principal \(principal)", source) { $0.principal == principal }
    }

    /// A rule that permits requests depending on whether they have a principal.
    ///
    /// - Parameters:
    ///   - authenticated: `true` to permit only requests with a principal; `false` to permit only requests without one.
    ///   - source: The required source, or `nil` for any source of HTTP requests.
    public static func http(authenticated: Bool, source: SourceName? = nil) -> AccessRule {
        let description = authenticated ? "HTTP with a principal" : "HTTP without a principal"
        return http(description, source) { ($0.principal != nil) == authenticated }
    }

    /// A rule that permits requests from pages of exactly the given origin.
    ///
    /// Only browsers can be trusted to send their true origin. Where that matters, require a principal as well.
    ///
    /// - Parameters:
    ///   - origin: The origin, such as `try WebOrigin("https://app.example")`.
    ///   - source: The required source, or `nil` for any source of HTTP requests.
    public static func http(origin: WebOrigin, source: SourceName? = nil) -> AccessRule {
        http("HTTP of \(origin)", source) { $0.origin == origin }
    }

    private static func http(
        _ description: String,
        _ source: SourceName?,
        permits: @escaping @Sendable (HTTPActionFacts) -> Bool
    ) -> AccessRule {
        AccessRule(description, naming: HTTPActionFacts.self, of: source, permits: permits)
    }
}

/// The media types that decide how a body is read.
enum MediaType {
    static let json = "application/json"
    static let form = "application/x-www-form-urlencoded"
    static let event = "application/cloudevents+json"
    static let events = "application/cloudevents-batch+json"
    static let bytes = "application/octet-stream"

    /// Returns a media type in lower case and without parameters.
    static func essence(_ header: String) -> String {
        let type = header.prefix { $0 != ";" }
        return type.filter { $0 != " " && $0 != "\t" }.lowercased()
    }

    static func isJSON(_ type: String) -> Bool { type == json || type.hasSuffix("+json") }
}
