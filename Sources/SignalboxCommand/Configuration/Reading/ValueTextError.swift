/// Why a text is no duration or size.
struct ValueTextError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What was expected. The text itself is not repeated.
    let description: String
}
