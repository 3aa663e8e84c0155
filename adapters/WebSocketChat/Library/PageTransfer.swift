/// A document on its way to a client.
struct PageTransfer {
    let page: ServedPage
    var sent = 0
    /// Whether the library has all of it, perhaps still buffered.
    var isWritten = false

    /// How much is handed over at once, in bytes.
    static let stepBytes = 16_384
}
