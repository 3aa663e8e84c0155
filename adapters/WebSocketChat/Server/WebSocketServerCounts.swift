/// What a chat server has counted since it was made. Each refused request and each connection that was closed for a reason
/// of ours is counted once.
public struct WebSocketServerCounts: Sendable, Hashable, Encodable {
    /// Connections that are open now.
    public internal(set) var open = 0
    /// Connections that were opened, those still open included.
    public internal(set) var opened = 0
    /// Connections that were let in by a token in the query; see ``WebSocketServerConfiguration/queryTokens``.
    public internal(set) var queryTokens = 0
    /// Upgrades refused with 400, 405, 426 or 431: they were no proper request for a WebSocket, or offered subprotocols of
    /// which none is spoken.
    public internal(set) var malformed = 0
    /// Upgrades refused with 401: a token was missing, or nobody's.
    public internal(set) var unauthorized = 0
    /// Upgrades refused with 403: the origin was not allowed, there were two, or none where there must be one.
    public internal(set) var forbidden = 0
    /// Upgrades refused with 404: nobody is served at the path. Pages that are not there do not count.
    public internal(set) var notFound = 0
    /// Upgrades refused with 503: there were as many connections as there may be, the server was stopping, or the source had
    /// no room for what announces a connection.
    public internal(set) var unavailable = 0
    /// Connections cut before their request, as the process had hardly a descriptor left.
    public internal(set) var withoutDescriptor = 0
    /// HTTP connections that were evicted to make room for others.
    public internal(set) var crowdedOut = 0
    /// Connections that were closed on arrival or at their first request, as the limit of HTTP connections was reached.
    public internal(set) var turnedAway = 0
    /// Connections closed with 1013, as they read too slowly.
    public internal(set) var slowReaders = 0
    /// Connections closed with 1001, as they sent no message for the idle timeout.
    public internal(set) var idle = 0
    /// Connections closed with 1008, as a message took longer than the message timeout.
    public internal(set) var unfinished = 0
    /// Connections closed with 1009, as a message was too large or in too many pieces.
    public internal(set) var tooBig = 0
    /// Connections closed with 1003, as a message was binary and the configuration takes none.
    public internal(set) var unacceptable = 0
    /// Connections that ended as the client sent what RFC 6455 forbids (1002), or text that is not UTF-8 (1007).
    public internal(set) var brokeProtocol = 0
    /// Connections that broke without a close frame: reset, or without a sign of life for the silence limit.
    public internal(set) var lost = 0
    /// Messages that were read and that the supervisor did not take, as it or the server stopped. Those with an id were
    /// answered `abandoned`.
    public internal(set) var notTaken = 0
}
