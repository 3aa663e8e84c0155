/// A document on its way to a client.
struct PageTransfer {
    let page: ServedPage
    var sent = 0

    /// How much is handed over at once, in bytes.
    static let stepBytes = 16_384
}
