/// What a route (a topic pattern, a URL pattern) says about a message.
///
/// Captures join the body: each is a member of the body's object, wins over a member of the same name that the sender
/// wrote, and converts from text by the rule for text of URLs and topics.
public struct RouteNaming: Sendable, Hashable {
    /// The action, or `nil` when the payload names it, by an envelope of its own: the standard one, or the chosen
    /// ``PayloadEnvelope``.
    public let action: ActionName?
    /// The id, or `nil` when the route does not say.
    public let id: ActionID?
    /// The named pieces of the topic or URL that are neither `action` nor `id`, in order.
    public let captures: [Capture]

    /// One named piece of a topic or URL.
    public struct Capture: Sendable, Hashable {
        /// The name in the pattern.
        public let name: String
        /// The text it stood for.
        public let value: String

        /// A capture as a pattern found it.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// What a route found.
    public init(action: ActionName?, id: ActionID? = nil, captures: [Capture] = []) {
        self.action = action
        self.id = id
        self.captures = captures
    }
}
