public import SignalboxCore

/// Why a push source cannot be set up, or cannot go on. Never contains a secret.
public struct MQTTPushError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error; more may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Word: String {
            case invalidBroker, invalidConfiguration, secretUnavailable, notConnected, subscriptionRefused, noResources
            case untrustedCertificate, wrongHost, expiredCertificate, badCredentials, certificateRefused
            case preSharedKeyRefused, notAuthorized, tlsFailed, unusableFile
        }
        private let word: Word

        /// A broker's URL that cannot be used.
        public static let invalidBroker = Code(word: .invalidBroker)
        /// A value of the configuration is out of its range, or two do not go together.
        public static let invalidConfiguration = Code(word: .invalidConfiguration)
        /// A user name or password could not be read from where it is kept.
        public static let secretUnavailable = Code(word: .secretUnavailable)
        /// The first connection failed, and the configuration says that it must not.
        public static let notConnected = Code(word: .notConnected)
        /// The broker refused every topic filter, and the configuration says that the first connection must succeed.
        public static let subscriptionRefused = Code(word: .subscriptionRefused)
        /// The broker's certificate is signed by no authority that is trusted.
        public static let untrustedCertificate = Code(word: .untrustedCertificate)
        /// The broker's certificate is for another host.
        public static let wrongHost = Code(word: .wrongHost)
        /// The broker's certificate is no longer valid, or not yet.
        public static let expiredCertificate = Code(word: .expiredCertificate)
        /// The broker does not know the user name and password.
        public static let badCredentials = Code(word: .badCredentials)
        /// The broker refused the client's certificate, or asked for one and got none.
        public static let certificateRefused = Code(word: .certificateRefused)
        /// The broker does not know the identity, or knows another key.
        public static let preSharedKeyRefused = Code(word: .preSharedKeyRefused)
        /// The broker knows the client, and does not allow it to connect.
        public static let notAuthorized = Code(word: .notAuthorized)
        /// The two sides found no way to speak TLS for another reason.
        public static let tlsFailed = Code(word: .tlsFailed)
        /// A file of certificates or of a key cannot be read, or is none.
        public static let unusableFile = Code(word: .unusableFile)
        /// The system gave no thread, no descriptor or no memory.
        public static let noResources = Code(word: .noResources)

        /// The word used in logs, such as `invalidBroker`.
        public var description: String { word.rawValue }
    }

    /// What kind of error this is.
    public let code: Code
    /// The source it is about, where that was known.
    public let source: SourceName?
    /// What is wrong and what to do about it, in a sentence.
    public let detail: String

    init(_ code: Code, _ detail: String, source: SourceName? = nil) {
        self.code = code
        self.source = source
        self.detail = detail
    }

    func about(_ source: SourceName) -> MQTTPushError {
        MQTTPushError(code, detail, source: source)
    }

    /// The source, where known, and the detail.
    public var description: String {
        guard let source else { return detail }
        return "source \(source): \(detail)"
    }
}
