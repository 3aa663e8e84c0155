/// What becomes of a client that sends no header `Origin`. Browsers always send one, so it is none.
public enum WebSocketAbsentOrigin: String, Sendable, Hashable, CaseIterable {
    /// It needs a valid token, as everybody does where there are principals; without principals it is refused.
    case withToken
    /// It is allowed as those of an allowed origin are: it still needs a token where there are principals.
    case allowed
    /// It is refused.
    case refused
}
