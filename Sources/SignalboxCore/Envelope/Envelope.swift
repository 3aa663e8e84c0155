/// The rules by which the bytes of a message, together with what its adapter knows, become a name, an id and a body.
///
/// An adapter passes the envelope of its source to ``ArrivalBatch`` for each message.
public struct Envelope: Sendable {
    package enum Form: Sendable {
        case payload(PayloadEnvelope)
        case route(RouteNaming, PayloadEnvelope)
        case handler(ActionName)
        case address(ActionName, RouteNaming)
    }

    package let form: Form
    /// The kind recorded for arrivals. It is stored, so that no message needs a switch over the form.
    package let kind: EnvelopeKind

    /// A JSON object `{"action", "id" | "uuid", "body"}`.
    public static let standard = payload(.standard)

    /// A payload of Apple's push service (APNs): a JSON object whose member `action` names the action.
    ///
    /// The member `id` or `uuid` is the id, as in a standard envelope. The required object `aps` is available as
    /// ``Action/aps``. The body is an object of all other members in their order, and a member `body` has no special
    /// meaning. A payload has at most ``apnsLimit`` bytes. The ``MessageLimits`` apply as well.
    public static let apns = payload(.apns)

    /// The maximum size of an APNs payload: 5,120 bytes.
    ///
    /// The service rejects payloads of more than 4,096 bytes, or of more than 5,120 bytes for VoIP notifications
    /// (Apple, "Generating a remote notification"). Because a payload does not indicate its type, the larger limit
    /// applies to all.
    public static let apnsLimit = 5_120

    /// A CloudEvents 1.0 event in JSON (structured mode).
    ///
    /// The `type` of the event is the action, its `id` is the id, and its `data` is the body. The attributes are
    /// available as ``Action/cloudEventAttributes``. The sender sets the `source` of the event, so it is an attribute
    /// and never the ``Action/origin``.
    ///
    /// If `data` is a string and `datacontenttype` is not JSON, the body is text. If there is `data_base64`, the body
    /// is bytes, regardless of the content type. Without data, the body is `null`. A batch of events, which is a JSON
    /// array, is rejected.
    ///
    /// The parser follows the JSON event format and the specification of
    /// https://github.com/cloudevents/spec/tree/v1.0.2/cloudevents. It validates the names and values of attributes,
    /// except the syntax of URIs, because Signalbox never dereferences them.
    public static let cloudEvents = payload(.cloudEvents)

    /// Returns the envelope in which a payload names its own action.
    public static func payload(_ envelope: PayloadEnvelope) -> Envelope {
        Envelope(form: .payload(envelope), kind: envelope.kind)
    }

    /// Returns the envelope for a route that names the action. The whole payload becomes the body.
    public static func route(_ naming: RouteNaming) -> Envelope {
        route(naming, payload: .standard)
    }

    /// Returns the envelope for a route that may leave the name of the action to the payload.
    ///
    /// If the route names no action, the payload is parsed by its own envelope. The id and the captures of the route
    /// are then added to the content of the payload.
    public static func route(_ naming: RouteNaming, payload: PayloadEnvelope) -> Envelope {
        Envelope(form: .route(naming, payload), kind: naming.action == nil ? payload.kind : .route)
    }

    /// Returns the envelope for a message that a page posts to a handler with
    /// `messageHandlers.NAME.postMessage(value)`.
    ///
    /// The name of the handler is the action, and the JSON value is the body. If the value is an object with a member
    /// `action`, it is parsed as a standard envelope instead.
    public static func handler(_ name: ActionName) -> Envelope {
        Envelope(form: .handler(name), kind: .handler)
    }

    /// Returns the envelope for an address, such as a URL, that contains everything about the action.
    ///
    /// The bytes of the message are kept as its original and are not parsed. The body is an object of the captures,
    /// which may be empty.
    package static func address(
        _ action: ActionName,
        id: ActionID?,
        captures: [RouteNaming.Capture]
    ) -> Envelope {
        let naming = RouteNaming(action: action, id: id, captures: captures)
        return Envelope(form: .address(action, naming), kind: .address)
    }
}

/// The envelope by which an arrival was parsed, which determines where its name, id and body were found.
///
/// An arrival whose message could not be parsed has the envelope that was tried.
public struct EnvelopeKind: Sendable, Hashable, CustomStringConvertible {
    private enum Code: UInt8 { case none, standard, handler, route, address, apns, cloudEvents }
    private let code: Code

    /// ``Envelope/standard``: a member `action`. Messages with added route captures and messages to a handler can have
    /// it too.
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
    /// The adapter itself could not read the message, so no envelope was tried.
    public static let none = EnvelopeKind(code: .none)

    /// The name of the envelope in logs, JSON and explanations, such as `cloudEvents`.
    public var description: String { "\(code)" }
}

/// An envelope in which a payload names its own action. The configuration of a source selects one.
public struct PayloadEnvelope: Sendable, Hashable, CustomStringConvertible {
    enum Form { case standard, apns, cloudEvents }
    let form: Form
    /// The kind that arrivals with this envelope have.
    public let kind: EnvelopeKind

    /// ``Envelope/standard``.
    public static let standard = PayloadEnvelope(form: .standard, kind: .standard)
    /// ``Envelope/apns``.
    public static let apns = PayloadEnvelope(form: .apns, kind: .apns)
    /// ``Envelope/cloudEvents``.
    public static let cloudEvents = PayloadEnvelope(form: .cloudEvents, kind: .cloudEvents)

    /// The name of the envelope in errors and explanations: `standard`, `apns` or `cloudEvents`.
    public var description: String { kind.description }
}
