import AdapterSupport
public import SignalboxCore

/// An error in the setup or operation of a push source.
///
/// Use ``code`` to handle the error in a program; ``detail`` is a human-readable explanation. Neither contains secrets,
/// so you can log the error as is.
public struct MQTTPushError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error. Later versions may add more, so handle unknown codes as well.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The name used in logs, such as `invalidBroker`.
        public let rawValue: String

        /// Creates a code from its name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The broker's URL is invalid.
        public static let invalidBroker = Code(rawValue: "invalidBroker")
        /// A configuration value is out of range, or two values conflict.
        public static let invalidConfiguration = Code(rawValue: "invalidConfiguration")
        /// A user name or password could not be read from its source.
        public static let secretUnavailable = Code(rawValue: "secretUnavailable")
        /// The first connection failed, and the configuration requires it to succeed.
        public static let notConnected = Code(rawValue: "notConnected")
        /// The broker refused every topic filter, and the configuration requires the first connection to succeed.
        public static let subscriptionRefused = Code(rawValue: "subscriptionRefused")
        /// The broker's certificate is not signed by a trusted authority.
        public static let untrustedCertificate = Code(rawValue: "untrustedCertificate")
        /// The broker's certificate was issued for a different host.
        public static let wrongHost = Code(rawValue: "wrongHost")
        /// The broker's certificate has expired or is not valid yet.
        public static let expiredCertificate = Code(rawValue: "expiredCertificate")
        /// The broker refused the user name or password.
        public static let badCredentials = Code(rawValue: "badCredentials")
        /// The broker refused the client certificate, or requested a client certificate although none is configured.
        public static let certificateRefused = Code(rawValue: "certificateRefused")
        /// The broker refused the pre-shared key or its identity.
        public static let preSharedKeyRefused = Code(rawValue: "preSharedKeyRefused")
        /// The enhanced authentication failed at the client's side: ``MQTTAuthentication`` threw an error.
        public static let authenticationFailed = Code(rawValue: "authenticationFailed")
        /// The broker does not authorize the client to connect.
        public static let notAuthorized = Code(rawValue: "notAuthorized")
        /// The broker, or a server in front of it, denied the WebSocket.
        public static let webSocketRefused = Code(rawValue: "webSocketRefused")
        /// The proxy requires a login, refused it, or denies the connection to the broker.
        public static let proxyRefused = Code(rawValue: "proxyRefused")
        /// TLS failed for another reason.
        public static let tlsFailed = Code(rawValue: "tlsFailed")
        /// A certificate or key file is unreadable or has the wrong content.
        public static let unusableFile = Code(rawValue: "unusableFile")
        /// The system has no thread, descriptor or memory left.
        public static let noResources = Code(rawValue: "noResources")

        /// The name.
        public var description: String { rawValue }
    }

    /// The kind of error.
    public let code: Code
    /// The source that the error is about, if it is known.
    public let source: SourceName?
    /// A description of the error and of how to fix it.
    public let detail: String

    package init(_ code: Code, _ detail: String, source: SourceName? = nil) {
        self.code = code
        self.source = source
        self.detail = detail
    }

    static func invalid(_ detail: String) -> MQTTPushError {
        MQTTPushError(.invalidConfiguration, detail)
    }

    static func noConnection(source: SourceName) -> MQTTPushError {
        MQTTPushError(.invalidConfiguration, "there is no connection with that name", source: source)
    }

    /// Checks rules in order.
    ///
    /// - Throws: ``MQTTPushError`` `invalidConfiguration` for the first rule that does not hold. The error's ``detail``
    ///   contains the text of the violated rule.
    static func check(_ rules: [(holds: Bool, rule: String)]) throws(MQTTPushError) {
        for (holds, rule) in rules where !holds { throw .invalid(rule) }
    }

    /// Reads a secret for a connection that is about to be made.
    ///
    /// - Throws: ``MQTTPushError`` `secretUnavailable` if the secret cannot be read.
    static func reading(_ secret: Secret) throws(MQTTPushError) -> String {
        do throws(SecretUnavailable) {
            return try secret.read()
        } catch {
            throw MQTTPushError(.secretUnavailable, error.description)
        }
    }

    func about(_ source: SourceName) -> MQTTPushError {
        MQTTPushError(code, detail, source: source)
    }

    /// The detail, preceded by the name of the source if it is known, and followed by the code, such as
    /// `[MQTTPushError.notConnected]`.
    public var description: String { coded(source.map { "source \($0): \(detail)" } ?? detail) }
}

extension MQTTPushError: CodedError {
    /// The name of ``code``.
    package var codeName: String { code.rawValue }
}
