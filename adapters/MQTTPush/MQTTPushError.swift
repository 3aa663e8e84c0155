public import SignalboxCore

/// An error in the setup or operation of a push source. Never contains a secret.
public struct MQTTPushError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error; more may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Name: String {
            case invalidBroker, invalidConfiguration, secretUnavailable, notConnected, subscriptionRefused, noResources
            case untrustedCertificate, wrongHost, expiredCertificate, badCredentials, certificateRefused
            case preSharedKeyRefused, notAuthorized, tlsFailed, unusableFile
        }
        private let name: Name

        /// The broker's URL is invalid.
        public static let invalidBroker = Code(name: .invalidBroker)
        /// A configuration value is out of its range, or two values conflict.
        public static let invalidConfiguration = Code(name: .invalidConfiguration)
        /// A user name or password could not be read from its source.
        public static let secretUnavailable = Code(name: .secretUnavailable)
        /// The first connection failed, and the configuration requires it to succeed.
        public static let notConnected = Code(name: .notConnected)
        /// The broker refused every topic filter, and the configuration requires the first connection to succeed.
        public static let subscriptionRefused = Code(name: .subscriptionRefused)
        /// No trusted authority has signed the broker's certificate.
        public static let untrustedCertificate = Code(name: .untrustedCertificate)
        /// The broker's certificate is for another host.
        public static let wrongHost = Code(name: .wrongHost)
        /// The broker's certificate has expired or is not valid yet.
        public static let expiredCertificate = Code(name: .expiredCertificate)
        /// The broker refused the user name or password.
        public static let badCredentials = Code(name: .badCredentials)
        /// The broker refused the client certificate, or requested one and none is configured.
        public static let certificateRefused = Code(name: .certificateRefused)
        /// The broker refused the pre-shared key or its identity.
        public static let preSharedKeyRefused = Code(name: .preSharedKeyRefused)
        /// The broker does not authorize the client to connect.
        public static let notAuthorized = Code(name: .notAuthorized)
        /// TLS failed for another reason.
        public static let tlsFailed = Code(name: .tlsFailed)
        /// A certificate or key file is unreadable or has the wrong content.
        public static let unusableFile = Code(name: .unusableFile)
        /// The system has no thread, descriptor or memory left.
        public static let noResources = Code(name: .noResources)

        /// The name used in logs, such as `invalidBroker`.
        public var description: String { name.rawValue }
    }

    /// The kind of error.
    public let code: Code
    /// The source concerned, if known.
    public let source: SourceName?
    /// A sentence that states the error and how to fix it.
    public let detail: String

    init(_ code: Code, _ detail: String, source: SourceName? = nil) {
        self.code = code
        self.source = source
        self.detail = detail
    }

    func about(_ source: SourceName) -> MQTTPushError {
        MQTTPushError(code, detail, source: source)
    }

    /// The source, if known, and the detail.
    public var description: String {
        guard let source else { return detail }
        return "source \(source): \(detail)"
    }
}
