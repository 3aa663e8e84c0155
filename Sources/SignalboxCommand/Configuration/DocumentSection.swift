/// One entry of a chat source's `pages`.
struct DocumentSection: Sendable, Hashable {
    /// The file, relative to the working directory; it is read when the source begins.
    let file: String
    /// Such as `text/html; charset=utf-8`.
    let contentType: String
}
