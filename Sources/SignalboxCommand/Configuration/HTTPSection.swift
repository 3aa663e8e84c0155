import HTTPClient
import SignalboxCore

/// The settings of a plugin that sends each action to an HTTP server.
struct HTTPSection: Sendable, Hashable {
    /// A header of each request. The value is a secret, because it may be a credential.
    struct Header: Sendable, Hashable {
        let name: String
        let value: Secret
    }

    /// The maximum number of further headers.
    static let maximumHeaders = 32

    let url: HTTPURL
    var method = HTTPRequest.Method.post
    var headers: [Header] = []
    /// The token for `Authorization: Bearer`, read again for each attempt.
    var bearer: Secret?
    /// The key of the signature, read again for each attempt, or `nil` for no signature.
    var signatureKey: Secret?
    var security = HTTPSecurity()
    var connectTimeout = Duration.seconds(10)
    /// What the body of a response is.
    var output = ExecSection.Output.json
    /// The maximum size of that body, in bytes.
    var maximumResponse = ExecSection.standardMaximumOutput

    /// The secrets of each request.
    var secrets: [Secret] { headers.map(\.value) + [bearer, signatureKey].compactMap { $0 } }
}
