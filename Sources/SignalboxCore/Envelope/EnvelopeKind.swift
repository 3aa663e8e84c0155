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
