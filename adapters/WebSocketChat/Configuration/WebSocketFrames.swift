public import SignalboxCore

/// How frames become actions.
public struct WebSocketFrames: Sendable, Hashable {
    /// What a text message is.
    public enum Text: Sendable, Hashable {
        /// It brings its envelope: name, id and body. An array is a batch of such messages.
        case envelope(PayloadEnvelope)
        /// It is the body of this action, whatever it says; JSON, or text as it is.
        case action(ActionName, PayloadKind)
    }

    /// What a text message is; a standard envelope by default.
    public var text: Text
    /// The action whose body a binary message is, as bytes; `nil`, the default: binary messages are refused, and their
    /// connection is closed with 1003.
    public var binary: ActionName?
    /// How many messages an array in one frame may hold, 1 to 10,000; 256 by default. A longer one is one rejected arrival.
    public var batch = 256

    /// Frames as given.
    public init(text: Text = .envelope(.standard), binary: ActionName? = nil) {
        self.text = text
        self.binary = binary
    }
}
