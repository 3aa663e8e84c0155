/// What became of lines before the publisher had them.
struct LineCounts: Sendable, Hashable {
    /// Lines that the publisher took.
    var taken = 0
    /// Lines that cannot be messages, or that nobody could take any more.
    var refused = 0
    /// Lines without a byte, which are no messages.
    var empty = 0
    /// Whether stdin came to its end.
    var isComplete = false
    /// Why stdin could not be read to its end.
    var fault: String?
}
