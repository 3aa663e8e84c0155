/// The limits for HTTP connections.
struct HTTPLimits: Equatable, Sendable {
    /// The maximum number of sockets, including those of WebSockets. Evicted connections do not count.
    var sockets = 1_250
    /// The maximum number of HTTP connections that have made a request.
    var connections = 250
    /// The maximum number of HTTP connections from one address that have made a request.
    var connectionsPerAddress = 125
    /// The maximum number of requests on one connection.
    var requests = 100
    /// The maximum lifetime of an HTTP connection.
    var lifetime: Duration = .seconds(30)
    /// The maximum time to send one document, to receive the body of one request, or to send its answer.
    var transferTime: Duration = .seconds(30)
    /// The maximum time between two requests, in seconds. If it is `nil`, the timeout of opening a connection applies.
    var idleSeconds: Int32?
}
