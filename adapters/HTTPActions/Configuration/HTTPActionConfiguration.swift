public import SignalboxCore
public import SignalboxRoutes
public import WebSocketChat

/// The configuration of an ``HTTPActionServer``.
///
/// By default, `POST /ACTION` submits the action with the request's body. The configuration must allow some clients to send,
/// by ``principals``, ``signatures`` or ``allowsAnyone``. ``HTTPActionServer`` validates it when it is created.
public struct HTTPActionConfiguration: Sendable, Hashable {
    /// The source that arrivals from the server belong to.
    public var source: SourceName
    /// The routes, of which the most specific one that matches a path counts. There can be at most 1,000. The default is
    /// `/{action}`.
    public var routes = [HTTPActionRoute.named]
    /// The clients that may send, each with a token, which they present as `Authorization: Bearer TOKEN` (RFC 6750, 2.1).
    /// There can be at most 10,000. By default, there are none.
    public var principals: [WebSocketPrincipal] = []
    /// The keys with which clients may sign their requests instead. There can be at most 100. By default, there are none.
    public var signatures: [HTTPActionSignature] = []
    /// Whether requests without a token and a signature are accepted, with no principal. The default is `false`.
    ///
    /// A token or a signature that a request has must be valid nevertheless.
    public var allowsAnyone = false
    /// The addresses that may send. There can be at most 1,000 ranges. If the list is empty, which is the default, any address
    /// may.
    ///
    /// The address is that of the connection. Behind a proxy, it is the proxy's.
    public var addresses: [AddressRange] = []
    /// The origins whose pages may send. There can be at most 1,000. By default, there are none.
    ///
    /// A request that a browser marks with another origin is refused with 403, so that a page of another site cannot send on
    /// behalf of its visitor. For these origins, the server answers the browser's preflight (Fetch, 3.2).
    public var origins: [WebOrigin] = []
    /// The limits for a single message. A larger body is refused with 413.
    ///
    /// Each HTTP connection of the listener can hold an incomplete body of this size, for
    /// `WebListenerConfiguration.httpTimeout`.
    public var limits = MessageLimits()
    /// How long a request may wait for room in the source's window before it is refused with 429. Must be between 1 ms and
    /// 1 h; the default is 5 s.
    public var roomTimeout: Duration = .seconds(5)
    /// The maximum number of requests that wait for room in the source's window. Must be between 1 and 1,000,000; the default
    /// is 1,000. Further ones are refused with 429.
    public var waiting = 1_000
    /// The maximum number of streams of events. Must be between 0 and 1,000,000; the default is 100.
    ///
    /// Each takes an HTTP connection of the listener. Beyond the limit, requests for streams are refused with 503.
    public var streams = 100
    /// How long a stream is silent before the server sends a comment, which shows whether the client is still there. Must be
    /// between 1 s and 1 h; the default is 15 s.
    public var heartbeat: Duration = .seconds(15)

    /// Creates a configuration with the default routes.
    public init(source: SourceName) {
        self.source = source
    }
}

/// Maps the requests at a path to an action.
public struct HTTPActionRoute: Sendable, Hashable {
    /// The pattern of the path, such as `/hooks/{provider}/{action}`.
    ///
    /// The capture `{action}` names the action, `{id}` is the id, and all other captures become members of the body, as the
    /// items of the query do. If the pattern has a query part, only the items listed there become members.
    public var pattern: URLPattern
    /// The action. The default, `nil`, requires the capture `{action}`, or a CloudEvent that names its action.
    public var action: ActionName?
    /// What a body is read as.
    public var payload: HTTPActionPayload

    /// Creates a route. It is validated when its server is created.
    public init(_ pattern: URLPattern, action: ActionName? = nil, payload: HTTPActionPayload = .contentType) {
        self.pattern = pattern
        self.action = action
        self.payload = payload
    }

    /// The route `/{action}`.
    public static var named: HTTPActionRoute { HTTPActionRoute(namedPattern) }

    private static let namedPattern: URLPattern = {
        do throws(RoutePatternError) { return try URLPattern("/{action}") } catch {
            preconditionFailure("the default route must be a pattern: \(error)")
        }
    }()
}

/// What a request's body is read as.
public enum HTTPActionPayload: String, Sendable, Hashable, CaseIterable {
    /// What the header `Content-Type` says: JSON, text, a form, a CloudEvent, or else bytes.
    case contentType
    /// JSON, whatever the header says.
    case json
    /// Text, whatever the header says.
    case text
    /// Bytes, whatever the header says.
    case bytes
}
