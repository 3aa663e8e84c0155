#if WebKitGTK
/// What was posted in the page's world, from whatever frame.
struct RawPost: Sendable {
    let handler: String
    /// `nil` for `undefined`.
    let json: String?
    /// How much processor time it took to be read.
    let time: Duration
}
#endif
