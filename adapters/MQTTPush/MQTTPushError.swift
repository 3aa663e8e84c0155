public import SignalboxCore

/// An error in the setup or operation of a push source. Never contains a secret.
public struct MQTTPushError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error; more may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Word: String {
            case invalidBroker, invalidConfiguration, secretUnavailable, notConnected, subscriptionRefused, noResources
            case untrustedCertificate, wrongHost, expiredCertificate, badCredentials, certificateRefused
            case preSharedKeyRefused, notAuthorized, tlsFailed, unusableFile
        }
        private let word: Word

        /// The broker's URL is invalid.
        public static let invalidBroker = Code(word: .invalidBroker)
        /// A configuration value is out of its range, or two values conflict.
        public static let invalidConfiguration = Code(word: .invalidConfiguration)
        /// A user name or password could not be read from its source.
        public static let secretUnavailable = Code(word: .secretUnavailable)
        /// The first connection failed, and the configuration requires it to succeed.
        public static let notConnected = Code(word: .notConnected)
        /// The broker refused every topic filter, and the configuration requires the first connection to succeed.
        public static let subscriptionRefused = Code(word: .subscriptionRefused)
        /// No trusted authority has signed the broker's certificate.
        public static let untrustedCertificate = Code(word: .untrustedCertificate)
        /// The broker's certificate is for another host.
        public static let wrongHost = Code(word: .wrongHost)
        /// The broker's certificate has expired or is not valid yet.
        public static let expiredCertificate = Code(word: .expiredCertificate)
        /// The broker refused the user name or password.
        public static let badCredentials = Code(word: .badCredentials)
        /// The broker refused the client certificate, or requested one and none is configured.
        public static let certificateRefused = Code(word: .certificateRefused)
        /// The broker refused the pre-shared key or its identity.
        public static let preSharedKeyRefused = Code(word: .preSharedKeyRefused)
        /// The broker does not authorize the client to connect.
        public static let notAuthorized = Code(word: .notAuthorized)
        /// TLS failed for another reason.
        public static let tlsFailed = Code(word: .tlsFailed)
        /// A certificate or key file is unreadable or has the wrong content.
        public static let unusableFile = Code(word: .unusableFile)
        /// The system has no thread, descriptor or memory left.
        public static let noResources = Code(word: .noResources)

        /// The name used in logs, such as `invalidBroker`.
        public var description: String { word.rawValue }
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
