import MQTTPush

extension CommandStatus {
    /// The status of a command whose connection to a broker failed.
    init(_ error: MQTTPushError) {
        switch error.code {
        case .untrustedCertificate, .wrongHost, .expiredCertificate, .tlsFailed, .unusableFile: self = .notSecured
        case .badCredentials, .certificateRefused, .preSharedKeyRefused, .notAuthorized: self = .refused
        default: self = .unavailable
        }
    }

    /// The status of a command whose message was not published, or whose request has no reply.
    init(_ error: MQTTPublishError) {
        switch error.code {
        case .denied: self = .refused
        case .timeout: self = .timeout
        case .invalidMessage, .tooLarge, .unsupported, .expired: self = .notAsExpected
        default: self = .unavailable
        }
    }
}
