/// How a message's bytes and what its adapter knows about it become an action's name, id and body.
public struct Envelope: Sendable {
    package enum Form: Sendable {
        case standard
        case route(RouteNaming, PayloadEnvelope)
        case handler(ActionName)
        case address(ActionName, RouteNaming)
        /// With the most bytes that a payload may have.
        case apns(Int)
        case cloudEvents
    }

    package let form: Form
    /// What an arrival is marked with; known here, so that reading it costs no look at the form.
    package let kind: EnvelopeKind

    private init(form: Form, kind: EnvelopeKind) {
        self.form = form
        self.kind = kind
    }

    /// A JSON object `{"action", "id" | "uuid", "body"}`.
    public static let standard = Envelope(form: .standard, kind: .standard)

    /// A payload of Apple's push service (APNs): a JSON object whose member `action` names the action, with `id` or
    /// `uuid` as in a standard envelope. `aps`, an object that must be there, is kept apart as ``Action/aps``; the body
    /// is an object of all other members, in their order. A member `body` is one of them like any other.
    ///
    /// At most ``apnsLimit`` bytes, besides ``MessageLimits``.
    public static let apns = Envelope(form: .apns(apnsLimit), kind: .apns)

    /// The most bytes of a payload of APNs: 5,120.
    ///
    /// The service refuses payloads of more than 4,096 bytes, and of notifications for VoIP of more than 5,120 (Apple,
    /// "Generating a remote notification"). A payload does not say which of the two it is, so the larger counts.
    public static let apnsLimit = 5_120

    /// An event of CloudEvents 1.0 in JSON (structured mode): `type` is the action, `id` the id, `data` the body; the
    /// attributes are kept apart as ``Action/cloudEventAttributes``. A batch, which is a JSON array, is no such event.
    ///
    /// A string `data` whose `datacontenttype` is not JSON is a body of text, `data_base64` one of bytes, whatever its
    /// content type; without data the body is `null`. The event's `source` is what its sender says: it is an attribute
    /// and never the ``Action/origin``.
    ///
    /// The JSON event format and the specification are those of
    /// https://github.com/cloudevents/spec/tree/v1.0.2/cloudevents. Checked are what it demands of names and values of
    /// attributes, except the form of URIs, which nothing here follows.
    public static let cloudEvents = Envelope(form: .cloudEvents, kind: .cloudEvents)

    /// An envelope that a payload brings itself.
    public static func payload(_ envelope: PayloadEnvelope) -> Envelope {
        switch envelope.form {
        case .standard: standard
        case .apns: apns
        case .cloudEvents: cloudEvents
        }
    }

    /// A route of the source named the action; the whole payload is the body.
    public static func route(_ naming: RouteNaming) -> Envelope {
        route(naming, payload: .standard)
    }

    /// A route of the source, and the envelope of the payload where the route names no action. Id and captures of the
    /// route are added to what the payload says.
    public static func route(_ naming: RouteNaming, payload: PayloadEnvelope) -> Envelope {
        Envelope(form: .route(naming, payload), kind: naming.action == nil ? payload.kind : .route)
    }

    /// The message was posted to a handler, as a page does with `messageHandlers.NAME.postMessage(value)`: the handler's
    /// name is the action and the posted JSON value the body. An object with a member `action` is a standard envelope
    /// instead.
    public static func handler(_ name: ActionName) -> Envelope {
        Envelope(form: .handler(name), kind: .handler)
    }

    /// An address said it all, as a URL does: the message's bytes are its original, and no body is read from them. The
    /// body is an object of the captures; without any it is an empty one.
    package static func address(
        _ action: ActionName,
        id: ActionID?,
        captures: [RouteNaming.Capture]
    ) -> Envelope {
        let naming = RouteNaming(action: action, id: id, captures: captures)
        return Envelope(form: .address(action, naming), kind: .address)
    }

    /// A payload of APNs that the system has read: its size on the wire is not known, and was checked there.
    static let deliveredPush = Envelope(form: .apns(.max), kind: .apns)
}

/// Which envelope an arrival was read by: where its name, its id and its body were found.
///
/// A message that could not be read has the envelope it was tried with.
public struct EnvelopeKind: Sendable, Hashable, CustomStringConvertible {
    private enum Code: UInt8 { case none, standard, handler, route, address, apns, cloudEvents }
    private let code: Code

    /// ``Envelope/standard``: a member `action`, also where a route added captures or a handler was posted to.
    public static let standard = EnvelopeKind(code: .standard)
    /// ``Envelope/handler(_:)``: the handler's name is the action, the posted value the body.
    public static let handler = EnvelopeKind(code: .handler)
    /// ``Envelope/route(_:)``: a topic or another route named the action.
    public static let route = EnvelopeKind(code: .route)
    /// A URL said it all; no body was read.
    public static let address = EnvelopeKind(code: .address)
    /// ``Envelope/apns``: a payload of Apple's push service.
    public static let apns = EnvelopeKind(code: .apns)
    /// ``Envelope/cloudEvents``: an event in the JSON format of CloudEvents 1.0.
    public static let cloudEvents = EnvelopeKind(code: .cloudEvents)
    /// None: the adapter itself found the message unreadable.
    public static let none = EnvelopeKind(code: .none)

    /// The word used in logs, JSON and explanations, such as `cloudEvents`.
    public var description: String { "\(code)" }
}

/// How a payload that names its action itself does so: the envelopes a configuration can choose for a source.
public struct PayloadEnvelope: Sendable, Hashable, CustomStringConvertible {
    package enum Form: String, Sendable { case standard, apns, cloudEvents }
    package let form: Form

    /// ``Envelope/standard``.
    public static let standard = PayloadEnvelope(form: .standard)
    /// ``Envelope/apns``.
    public static let apns = PayloadEnvelope(form: .apns)
    /// ``Envelope/cloudEvents``.
    public static let cloudEvents = PayloadEnvelope(form: .cloudEvents)

    /// The word used in errors and explanations: `standard`, `apns` or `cloudEvents`.
    public var description: String { form.rawValue }

    /// The same as the kind of an arrival.
    public var kind: EnvelopeKind {
        switch form {
        case .standard: .standard
        case .apns: .apns
        case .cloudEvents: .cloudEvents
        }
    }
}
