/// How a message's bytes and what its adapter knows about it become an action's name, id and body.
public enum Envelope: Sendable {
    /// A JSON object `{"action", "id" | "uuid", "body"}`.
    case standard
    /// A route of the source named the action; the whole payload is the body.
    case route(RouteNaming)
}
