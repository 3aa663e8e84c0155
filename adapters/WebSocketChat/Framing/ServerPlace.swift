/// Where a server listens and what it offers.
struct ServerPlace: Sendable {
    /// A server's own certificate and its key, as PEM files.
    struct Identity: Hashable, Sendable {
        let certificateFile: String
        let keyFile: String
    }

    /// An interface or numeric address; all interfaces when `nil`.
    var address: String? = "127.0.0.1"
    /// 0 lets the system choose.
    var port: UInt16 = 0
    /// Plain when `nil`.
    var identity: Identity?
    /// The subprotocols the server speaks. The client's first that is among them is agreed on.
    var subprotocols: [String] = []
    /// Compressed connections cost about 100 KB each, so it is off unless asked for.
    var compresses = false
    /// Documents by path, for GET.
    var pages: [String: ServedPage] = [:]
    /// Limits for HTTP connections.
    var http = HTTPLimits()
}
