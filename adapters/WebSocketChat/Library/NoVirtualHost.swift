/// Why no connection can be begun with what a target says of trust.
struct NoVirtualHost: Error {
    let end: ConnectionEnd
}
