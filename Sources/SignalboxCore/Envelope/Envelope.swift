/// How a message's bytes and what its adapter knows about it become an action's name, id and body.
public struct Envelope: Sendable {
    package enum Form: Sendable {
        case standard
        case route(RouteNaming)
        case handler(ActionName)
        case address(ActionName, RouteNaming)
    }

    package let form: Form

    /// A JSON object `{"action", "id" | "uuid", "body"}`.
    public static let standard = Envelope(form: .standard)

    /// A route of the source named the action; the whole payload is the body.
    public static func route(_ naming: RouteNaming) -> Envelope {
        Envelope(form: .route(naming))
    }

    /// The message was posted to a handler, as a page does with `messageHandlers.NAME.postMessage(value)`: the handler's
    /// name is the action and the posted JSON value the body. An object with a member `action` is a standard envelope
    /// instead.
    public static func handler(_ name: ActionName) -> Envelope {
        Envelope(form: .handler(name))
    }

    /// An address said it all, as a URL does: the message's bytes are its original, and no body is read from them. The
    /// body is an object of the captures; without any it is an empty one.
    package static func address(
        _ action: ActionName,
        id: ActionID?,
        captures: [RouteNaming.Capture]
    ) -> Envelope {
        Envelope(form: .address(action, RouteNaming(action: action, id: id, captures: captures)))
    }
}
