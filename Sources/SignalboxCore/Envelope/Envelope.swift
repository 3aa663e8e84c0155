/// Specifies how to find the name, the id and the body in a message, using the message's bytes and what the adapter
/// knows about the message.
///
/// An adapter passes its source's envelope to ``ArrivalBatch`` with each message.
public struct Envelope: Sendable {
    package enum Form: Sendable {
        case payload(PayloadEnvelope)
        case route(RouteNaming, PayloadEnvelope)
        case handler(ActionName)
        case address(ActionName, RouteNaming)
    }

    package let form: Form
    /// The kind recorded for arrivals. This property is stored, so that parsing a message does not need a switch over
    /// the form.
    package let kind: EnvelopeKind

    /// A JSON object with the members `action`, `id` or `uuid`, and `body`.
    public static let standard = payload(.standard)

    /// A payload from Apple's push service (APNs): a JSON object whose member `action` names the action.
    ///
    /// The member `id` or `uuid` is the id, as in a standard envelope. The required object `aps` is available as
    /// ``Action/aps``. The body is an object with all other members in their original order, among which `body` has no
    /// special meaning. A payload has at most ``apnsLimit`` bytes, and the ``MessageLimits`` also apply.
    public static let apns = payload(.apns)

    /// The maximum size of an APNs payload: 5,120 bytes.
    ///
    /// The service rejects payloads of more than 4,096 bytes, or more than 5,120 bytes for VoIP notifications (Apple,
    /// "Generating a remote notification"). A payload does not indicate its type, so the larger limit applies to all
    /// payloads.
    public static let apnsLimit = 5_120

    /// A CloudEvents 1.0 event in JSON (structured mode).
    ///
    /// The event's `type` is the action, its `id` is the id, and its `data` is the body. The attributes are available
    /// as ``Action/cloudEventAttributes``. Because the sender sets the event's `source`, Signalbox treats it only as an
    /// attribute, never as the ``Action/origin``.
    ///
    /// - If `data` is a string and `datacontenttype` is not JSON, the body is text.
    /// - If the event has a member `data_base64`, the body is bytes, regardless of the content type.
    /// - If the event has no data, the body is `null`.
    /// - A batch of events, which is a JSON array, is rejected.
    ///
    /// The parser follows the JSON event format and the specification at
    /// https://github.com/cloudevents/spec/tree/v1.0.2/cloudevents. It validates attribute names and values, but does
    /// not check the syntax of URIs, because Signalbox never dereferences them.
    public static let cloudEvents = payload(.cloudEvents)

    /// Returns the envelope for a payload that names its own action.
    public static func payload(_ envelope: PayloadEnvelope) -> Envelope {
        Envelope(form: .payload(envelope), kind: envelope.kind)
    }

    /// Returns the envelope for a route that names the action. The whole payload becomes the body.
    public static func route(_ naming: RouteNaming) -> Envelope {
        route(naming, payload: .standard)
    }

    /// Returns the envelope for a route whose payload names the action if the route itself does not.
    ///
    /// If the route names no action, the payload is parsed with the envelope `payload`, and the route's id and captures
    /// are then added to the parsed content.
    public static func route(_ naming: RouteNaming, payload: PayloadEnvelope) -> Envelope {
        Envelope(form: .route(naming, payload), kind: naming.action == nil ? payload.kind : .route)
    }

    /// Returns the envelope for a message that a page posts to a handler with
    /// `messageHandlers.NAME.postMessage(value)`.
    ///
    /// The handler's name is the action, and the JSON value is the body. If the value is an object with a member
    /// `action`, it is parsed as a standard envelope instead.
    public static func handler(_ name: ActionName) -> Envelope {
        Envelope(form: .handler(name), kind: .handler)
    }

    /// Returns the envelope for an address, such as a URL, that contains everything about the action.
    ///
    /// The message's bytes are kept as the original but are not parsed. The body is an object that contains only the
    /// captures, so it may be empty.
    package static func address(
        _ action: ActionName,
        id: ActionID?,
        captures: [RouteNaming.Capture]
    ) -> Envelope {
        let naming = RouteNaming(action: action, id: id, captures: captures)
        return Envelope(form: .address(action, naming), kind: .address)
    }
}

/// The kind of envelope used to parse an arrival, which shows where the arrival's name, id and body were found.
///
/// If the message could not be parsed, this is the kind of the envelope that was tried.
public struct EnvelopeKind: Sendable, Hashable, CustomStringConvertible {
    private enum Code: UInt8, CaseIterable { case none, standard, handler, route, address, apns, cloudEvents }
    private let code: Code

    /// ``Envelope/standard``: the message has a member `action`. Messages with added route captures and messages to a
    /// handler can also have this kind.
    public static let standard = EnvelopeKind(code: .standard)
    /// ``Envelope/handler(_:)``: the handler's name is the action, and the posted value is the body.
    public static let handler = EnvelopeKind(code: .handler)
    /// ``Envelope/route(_:)``: a topic or other route named the action.
    public static let route = EnvelopeKind(code: .route)
    /// A URL contained everything about the action, and no body was parsed.
    public static let address = EnvelopeKind(code: .address)
    /// ``Envelope/apns``: a payload from Apple's push service.
    public static let apns = EnvelopeKind(code: .apns)
    /// ``Envelope/cloudEvents``: an event in the JSON format of CloudEvents 1.0.
    public static let cloudEvents = EnvelopeKind(code: .cloudEvents)
    /// The adapter itself could not read the message, so no envelope was tried.
    public static let none = EnvelopeKind(code: .none)

    /// Creates the kind with this name, or ``none`` if no kind has the name.
    package init(named name: String) {
        code = Code.allCases.first { "\($0)" == name } ?? .none
    }

    private init(code: Code) { self.code = code }

    /// The envelope's name in logs, JSON and explanations, such as `cloudEvents`.
    public var description: String { "\(code)" }
}

/// An envelope for payloads that name their own action. A source's configuration selects one.
public struct PayloadEnvelope: Sendable, Hashable, CustomStringConvertible {
    enum Form { case standard, apns, cloudEvents }
    let form: Form
    /// The kind recorded for arrivals with this envelope.
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
