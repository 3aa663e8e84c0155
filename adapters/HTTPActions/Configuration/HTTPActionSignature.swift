import AdapterSupport
import SecureTransport
public import SignalboxCore

/// A key with which a client signs its requests, so that it needs no token.
///
/// A signature covers the body, and not the path, the query and the headers. Give the requests of such a client a route with a
/// fixed action, so that nobody can repeat one as another action.
public struct HTTPActionSignature: Sendable, Hashable {
    /// Where a request has its signature, and what is signed. Each is an HMAC with SHA-256 (RFC 2104).
    public enum Scheme: String, Sendable, Hashable, CaseIterable {
        /// `X-Signalbox-Signature: t=SECONDS,v1=HEX` over `SECONDS.BODY`, as `use: http` sends it.
        case signalbox
        /// `Stripe-Signature: t=SECONDS,v1=HEX` over `SECONDS.BODY`. The header can have several `v1`.
        case stripe
        /// `X-Hub-Signature-256: sha256=HEX` over the body. It has no time, so a recorded request never expires.
        case github
        /// `X-Slack-Signature: v0=HEX` over `v0:SECONDS:BODY`, with the header `X-Slack-Request-Timestamp`.
        case slack
    }

    /// The principal of requests with this signature.
    public let principal: String
    /// The scheme.
    public let scheme: Scheme
    /// The key, which is used as its bytes. It must be at least 16 bytes long. The server reads it when a run starts.
    public let key: Secret
    /// How much the time in a signature may differ from the server's clock. Must be between 1 s and 1 day; the default is
    /// 5 min.
    public var tolerance: Duration = .seconds(300)

    /// Creates a key. It is validated as part of its configuration.
    public init(_ principal: String, scheme: Scheme, key: Secret) {
        self.principal = principal
        self.scheme = scheme
        self.key = key
    }
}

extension HTTPActionSignature.Scheme {
    /// The header with the signature, in lower case.
    var header: String {
        switch self {
        case .signalbox: "x-signalbox-signature"
        case .stripe: "stripe-signature"
        case .github: "x-hub-signature-256"
        case .slack: "x-slack-signature"
        }
    }

    /// The header with the time, if it is not part of the signature.
    var timeHeader: String? { self == .slack ? "x-slack-request-timestamp" : nil }
}

/// The signature that a request states.
struct StatedSignature: Equatable {
    /// The codes in hexadecimal, of which one must be right.
    var codes: [String] = []
    /// The time in seconds since 1970, as stated.
    var time: String?

    /// Reads a header, or returns `nil` if it does not have the scheme's form.
    init?(_ header: String, time: String?, _ scheme: HTTPActionSignature.Scheme) {
        switch scheme {
        case .github:
            guard header.hasPrefix("sha256=") else { return nil }
            codes = [String(header.dropFirst("sha256=".count))]
        case .slack:
            guard header.hasPrefix("v0="), let time else { return nil }
            codes = [String(header.dropFirst("v0=".count))]
            self.time = time
        case .signalbox, .stripe:
            for part in header.split(separator: ",").prefix(StatedSignature.partLimit) {
                let halves = part.split(separator: "=", maxSplits: 1).map { $0.drop { $0 == " " } }
                guard halves.count == 2 else { continue }
                if halves[0] == "t" { self.time = String(halves[1]) }
                if halves[0] == "v1" { codes.append(String(halves[1])) }
            }
            guard self.time != nil, !codes.isEmpty else { return nil }
        }
    }

    private static let partLimit = 16

    /// Returns the bytes that the code is about.
    func signedBytes(_ body: [UInt8], _ scheme: HTTPActionSignature.Scheme) -> [UInt8] {
        switch scheme {
        case .github: body
        case .slack: Array("v0:\(time ?? ""):".utf8) + body
        case .signalbox, .stripe: Array("\(time ?? "").".utf8) + body
        }
    }
}

/// A key that has been read.
struct SignatureKey: Sendable {
    let signature: HTTPActionSignature
    let key: [UInt8]

    /// Returns why a request does not have this signature, or `nil` if it has.
    ///
    /// - Parameter signed: The bytes that the signature is about.
    func problem(of stated: StatedSignature, signed: [UInt8], at now: WallTime) -> String? {
        if let time = stated.time {
            guard let seconds = Int64(time), seconds >= 0 else { return "the time of its signature is not a number" }
            let difference = now.seconds.subtractingReportingOverflow(seconds)
            guard !difference.overflow, Duration.seconds(difference.partialValue.magnitude) <= signature.tolerance
            else {
                return "the time of its signature differs from this machine's by more than \(signature.tolerance)"
            }
        }
        guard let code = MessageAuthentication.sha256(of: signed, key: key) else {
            return "its signature could not be checked, as there is too little memory"
        }
        let isRight = stated.codes.contains { text in
            [UInt8](hexadecimal: text.lowercased()).map { MessageAuthentication.areEqual(code, $0) } ?? false
        }
        return isRight ? nil : "its signature is wrong"
    }
}
