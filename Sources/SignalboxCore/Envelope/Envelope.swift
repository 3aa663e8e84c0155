/// The rules by which an action's name, id and body are derived from a message's bytes and its adapter's data.
public struct Envelope: Sendable {
    package enum Form: Sendable {
        case payload(PayloadEnvelope)
        case route(RouteNaming, PayloadEnvelope)
        case handler(ActionName)
        case address(ActionName, RouteNaming)
    }

    package let form: Form
    /// The kind recorded for arrivals. Stored to avoid a switch over the form for each message.
    package let kind: EnvelopeKind

    /// A JSON object `{"action", "id" | "uuid", "body"}`.
    public static let standard = payload(.standard)

    /// A payload of Apple's push service (APNs): a JSON object whose member `action` names the action, with `id` or
    /// `uuid` as in a standard envelope. The required object `aps` is available as ``Action/aps``. The body is an
    /// object of all other members in their order; a member `body` has no special meaning.
    ///
    /// At most ``apnsLimit`` bytes, in addition to ``MessageLimits``.
    public static let apns = payload(.apns)

    /// The maximum size of an APNs payload: 5,120 bytes.
    ///
    /// The service rejects payloads of more than 4,096 bytes, or 5,120 for VoIP notifications (Apple, "Generating a
    /// remote notification"). A payload does not indicate its type, so the larger limit applies.
    public static let apnsLimit = 5_120

    /// A CloudEvents 1.0 event in JSON (structured mode). Its `type` is the action, `id` the id, and `data` the body.
    /// The attributes are available as ``Action/cloudEventAttributes``. A batch, which is a JSON array, is rejected.
    ///
    /// A string `data` whose `datacontenttype` is not JSON is a text body. `data_base64` is a body of bytes, regardless
    /// of content type. Without data the body is `null`. The sender sets the event's `source`, so it is an attribute
    /// and never the ``Action/origin``.
    ///
    /// Follows the JSON event format and the specification of
    /// https://github.com/cloudevents/spec/tree/v1.0.2/cloudevents. Attribute names and values are validated, except
    /// the syntax of URIs, which Signalbox never dereferences.
    public static let cloudEvents = payload(.cloudEvents)

    /// Returns the envelope in which a payload names its own action.
    public static func payload(_ envelope: PayloadEnvelope) -> Envelope {
        Envelope(form: .payload(envelope), kind: envelope.kind)
    }

    /// Returns the envelope for a route that names the action. The whole payload is the body.
    public static func route(_ naming: RouteNaming) -> Envelope {
        route(naming, payload: .standard)
    }

    /// Returns the envelope for a route, with the payload's own envelope if the route names no action. The route's id
    /// and captures are added to the payload's content.
    public static func route(_ naming: RouteNaming, payload: PayloadEnvelope) -> Envelope {
        Envelope(form: .route(naming, payload), kind: naming.action == nil ? payload.kind : .route)
    }

    /// Returns the envelope for a message posted to a handler, as a page does with
    /// `messageHandlers.NAME.postMessage(value)`. The handler's name is the action, and the JSON value is the body. An
    /// object with a member `action` is a standard envelope instead.
    public static func handler(_ name: ActionName) -> Envelope {
        Envelope(form: .handler(name), kind: .handler)
    }

    /// Returns the envelope for an address, such as a URL, that contains everything. The message's bytes are its
    /// original and are not parsed. The body is an object of the captures, possibly empty.
    package static func address(
        _ action: ActionName,
        id: ActionID?,
        captures: [RouteNaming.Capture]
    ) -> Envelope {
        let naming = RouteNaming(action: action, id: id, captures: captures)
        return Envelope(form: .address(action, naming), kind: .address)
    }
}

/// The envelope by which an arrival was parsed, which determines the location of its name, id and body.
///
/// An unreadable message has the envelope that was tried.
public struct EnvelopeKind: Sendable, Hashable, CustomStringConvertible {
    private enum Code: UInt8 { case none, standard, handler, route, address, apns, cloudEvents }
    private let code: Code

    /// ``Envelope/standard``: a member `action`, also with added route captures or for a handler's message.
    public static let standard = EnvelopeKind(code: .standard)
    /// ``Envelope/handler(_:)``: the handler's name is the action, and the posted value is the body.
    public static let handler = EnvelopeKind(code: .handler)
    /// ``Envelope/route(_:)``: a topic or another route named the action.
    public static let route = EnvelopeKind(code: .route)
    /// A URL contained everything, and no body was parsed.
    public static let address = EnvelopeKind(code: .address)
    /// ``Envelope/apns``: a payload of Apple's push service.
    public static let apns = EnvelopeKind(code: .apns)
    /// ``Envelope/cloudEvents``: an event in the JSON format of CloudEvents 1.0.
    public static let cloudEvents = EnvelopeKind(code: .cloudEvents)
    /// No envelope: the adapter itself found the message unreadable.
    public static let none = EnvelopeKind(code: .none)

    /// The envelope's name in logs, JSON and explanations, such as `cloudEvents`.
    public var description: String { "\(code)" }
}

/// An envelope in which a payload names its own action. A configuration chooses one per source.
public struct PayloadEnvelope: Sendable, Hashable, CustomStringConvertible {
    enum Form { case standard, apns, cloudEvents }
    let form: Form
    /// The same envelope as the kind of an arrival.
    public let kind: EnvelopeKind

    /// ``Envelope/standard``.
    public static let standard = PayloadEnvelope(form: .standard, kind: .standard)
    /// ``Envelope/apns``.
    public static let apns = PayloadEnvelope(form: .apns, kind: .apns)
    /// ``Envelope/cloudEvents``.
    public static let cloudEvents = PayloadEnvelope(form: .cloudEvents, kind: .cloudEvents)

    /// The envelope's name in errors and explanations: `standard`, `apns` or `cloudEvents`.
    public var description: String { kind.description }
}
