/// A document that a server hands out from memory.
struct ServedPage: Equatable, Sendable {
    let contentType: String
    let body: [UInt8]
    /// Further headers, such as a content security policy.
    var headers: [HeaderField] = []
}
