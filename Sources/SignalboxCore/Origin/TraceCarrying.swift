/// Facts of a source whose messages may say which trace they belong to, as in a header or a property.
///
/// What it answers comes from whoever sent the message and is not to be trusted; whoever asks checks the form.
public protocol TraceCarrying: OriginFacts {
    /// What the message says for a key of W3C Trace Context.
    ///
    /// - Parameter key: `traceparent` or `tracestate`, in small letters.
    /// - Returns: the value as it was sent; `nil` when the message has none, or more than one.
    func traceValue(forKey key: String) -> String?
}
