import AdapterSupport
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

/// Decides which requests a source accepts, before their bodies are read.
struct RequestPolicy: Sendable {
    /// A request that may be read.
    struct Admission {
        var message: RequestReader.Message
        /// The attributes of a CloudEvent in binary mode.
        let event: CloudEventHeaders?
        let contentType: String?
        /// Whether the client expects a stream of events.
        let wantsStream: Bool
        /// The signature to check when the body is there, with the keys that may have made it.
        var signature: (stated: StatedSignature, keys: [SignatureKey])?
        /// The headers of every answer to the client.
        let headers: [(name: String, value: String)]
    }

    enum Evaluation {
        case admitted(Admission)
        /// The request is answered at once. The reason for the log is `nil` if nothing is wrong.
        case answered(HTTPAnswer, reason: String?)
    }

    let configuration: HTTPActionConfiguration
    let routes: HTTPActionRoutes
    let credentials: Credentials
    private let origins: Set<WebOrigin>

    init(_ configuration: HTTPActionConfiguration, routes: HTTPActionRoutes, credentials: Credentials) {
        self.configuration = configuration
        self.routes = routes
        self.credentials = credentials
        origins = Set(configuration.origins)
    }

    /// The headers that the policy reads, in lower case.
    static let headerNames: [String] =
        [
            "accept", "authorization", "content-encoding", "content-type", "host", "idempotency-key", "origin",
            "sec-fetch-site", "traceparent", "tracestate", "x-requested-with",
        ] + CloudEventHeaders.attributes.map { "ce-\($0)" }
        + HTTPActionSignature.Scheme.allCases.flatMap { [$0.header] + ($0.timeHeader.map { [$0] } ?? []) }

    func evaluate(_ request: HTTPServerRequest) -> Evaluation {
        if !configuration.addresses.isEmpty,
            !configuration.addresses.contains(where: { $0.contains(request.peerAddress) })
        {
            return refused(403, "Access is denied for this address.", "its address is not among those allowed")
        }
        let origin: WebOrigin?
        switch self.origin(of: request) {
        case .success(let allowed): origin = allowed
        case .failure(let refusal): return refused(403, "Access is denied for this origin.", refusal.reason)
        }
        let headers = RequestPolicy.shared(with: origin)
        do throws(Refusal) {
            if request.method == "OPTIONS" { return try preflight(origin, headers) }
            return .admitted(try admission(of: request, origin, headers))
        } catch {
            var answer = HTTPAnswer(error.status, error.text)
            answer.headers += headers + error.headers
            return .answered(answer, reason: error.reason)
        }
    }

    private struct Refusal: Error {
        let status: Int
        let text: String
        let reason: String
        var headers: [(name: String, value: String)] = []
    }

    private func refused(_ status: Int, _ text: String, _ reason: String) -> Evaluation {
        .answered(HTTPAnswer(status, text), reason: reason)
    }

    // MARK: - Origin

    private func origin(of request: HTTPServerRequest) -> Result<WebOrigin?, Refusal> {
        var text = request.headers["origin"]
        // A browser states no origin when a page reads from its own site, which a page of another site can claim to be for
        // as long as its host name leads here. It says so only to loopback addresses and over TLS.
        if text == nil, let site = request.headers["sec-fetch-site"], site != "none" {
            text = "\(request.isSecure ? "https" : "http")://\(request.headers["host"] ?? "")"
        }
        guard let text else { return .success(nil) }
        guard let origin = try? WebOrigin(text), origins.contains(origin) else {
            let reason = "the origin \(UntrustedText.quoted(text)) is not among those allowed"
            return .failure(Refusal(status: 403, text: "", reason: reason))
        }
        return .success(origin)
    }

    private static func shared(with origin: WebOrigin?) -> [(name: String, value: String)] {
        guard let origin else { return [] }
        return [("Access-Control-Allow-Origin", origin.description), ("Vary", "Origin")]
    }

    private func preflight(
        _ origin: WebOrigin?,
        _ headers: [(name: String, value: String)]
    ) throws(Refusal) -> Evaluation {
        guard origin != nil else { throw RequestPolicy.wrongMethod }
        let more = [
            ("Access-Control-Allow-Methods", "POST, GET"),
            ("Access-Control-Allow-Headers", "authorization, content-type, idempotency-key"),
            ("Access-Control-Max-Age", "600"),
        ]
        return .answered(HTTPAnswer(status: 204, headers: headers + more), reason: nil)
    }

    private static let wrongMethod = Refusal(
        status: 405,
        text:
            "Send actions with POST. GET answers with Server-Sent Events, if the header Accept names text/event-stream.",
        reason: "its method is not supported",
        headers: [("Allow", "POST, GET, OPTIONS")]
    )

    // MARK: - Admission

    private func admission(
        of request: HTTPServerRequest,
        _ origin: WebOrigin?,
        _ headers: [(name: String, value: String)]
    ) throws(Refusal) -> Admission {
        let path = PathEncoding.path(request.path)
        guard routes.matches(path) else {
            let reason = "no route matches \(UntrustedText.quoted(request.path))"
            throw Refusal(status: 404, text: "There is no action at this path.", reason: reason)
        }
        let wantsStream = request.method == "GET" && request.accepts("text/event-stream")
        guard request.method == "POST" || wantsStream else { throw RequestPolicy.wrongMethod }
        let coding = request.headers["content-encoding"]?.lowercased() ?? "identity"
        guard coding == "identity" else {
            throw Refusal(status: 415, text: "Send the body without a content coding.", reason: "its body is encoded")
        }
        let event = CloudEventHeaders(request.headers)
        let contentType = request.headers["content-type"]
        var facts = HTTPActionFacts(
            method: request.method,
            path: path,
            peer: request.peerAddress,
            origin: origin,
            tls: request.isSecure,
            trace: request.headers.filter { ["traceparent", "tracestate"].contains($0.key) }
        )
        facts.query = PathEncoding.query(request.query)
        facts.contentType = event == nil ? contentType.map(MediaType.essence) : MediaType.event
        let signature = try authenticate(request, &facts)
        let isAnonymous = facts.principal == nil && signature == nil && origin == nil
        if wantsStream, isAnonymous, !request.isFromProgram { throw RequestPolicy.unknownReader }
        return Admission(
            message: RequestReader.Message(facts: facts, id: try id(of: request), body: []),
            event: event,
            contentType: contentType,
            wantsStream: wantsStream,
            signature: signature,
            headers: headers
        )
    }

    private static let unknownReader = Refusal(
        status: 403,
        text: "Send a token, or the header X-Requested-With to a numeric address or localhost.",
        reason: "it could come from a page of another site, as it has no token and no header X-Requested-With"
    )

    private func id(of request: HTTPServerRequest) throws(Refusal) -> ActionID? {
        guard let text = request.headers["idempotency-key"] else { return nil }
        // The draft of the header has a string in quotes; most clients send none.
        let isQuoted = text.utf8.count >= 2 && text.hasPrefix("\"") && text.hasSuffix("\"")
        guard let id = ActionID(isQuoted ? String(text.dropFirst().dropLast()) : text) else {
            throw Refusal(
                status: 400,
                text: "Idempotency-Key must have 1 to \(ActionID.maximumLength) bytes.",
                reason: "its Idempotency-Key is too long or empty"
            )
        }
        return id
    }

    // MARK: - Authentication

    /// Finds the principal of a token, or the signature to check.
    private func authenticate(
        _ request: HTTPServerRequest,
        _ facts: inout HTTPActionFacts
    ) throws(Refusal) -> (stated: StatedSignature, keys: [SignatureKey])? {
        if let header = request.headers["authorization"] {
            guard let token = BearerToken.credentials(header),
                let owner = credentials.tokens.principal(presenting: token)
            else { throw RequestPolicy.unauthorized("its token is unknown") }
            facts.principal = owner
            return nil
        }
        for scheme in HTTPActionSignature.Scheme.allCases {
            let keys = credentials.keys.filter { $0.signature.scheme == scheme }
            guard !keys.isEmpty, let header = request.headers[scheme.header] else { continue }
            let time = scheme.timeHeader.flatMap { request.headers[$0] }
            guard let stated = StatedSignature(header, time: time, scheme) else {
                throw RequestPolicy.unauthorized("its signature has not the form of \(scheme.rawValue)")
            }
            return (stated, keys)
        }
        guard configuration.allowsAnyone else { throw RequestPolicy.unauthorized("it has no token and no signature") }
        return nil
    }

    private static func unauthorized(_ reason: String) -> Refusal {
        Refusal(
            status: 401,
            text: "A valid token or signature is required.",
            reason: reason,
            headers: [("WWW-Authenticate", "Bearer")]
        )
    }

    /// The answer to a request whose signature is wrong.
    static func wrongSignature(_ headers: [(name: String, value: String)]) -> HTTPAnswer {
        let refusal = unauthorized("")
        var answer = HTTPAnswer(refusal.status, refusal.text)
        answer.headers += headers + refusal.headers
        return answer
    }
}

extension HTTPServerRequest {
    /// Whether no page of another site can have sent the request. Such a page cannot add this header to a request that states
    /// no origin, unless its host name leads here.
    fileprivate var isFromProgram: Bool {
        guard headers["x-requested-with"] != nil, let host = headers["host"]?.lowercased() else { return false }
        if host.hasPrefix("[") { return true }
        let name = String(host.prefix { $0 != ":" })
        return name == "localhost" || NumericAddress(name) != nil
    }

    /// Returns whether the header `Accept` names a media type.
    fileprivate func accepts(_ type: String) -> Bool {
        (headers["accept"] ?? "").split(separator: ",").contains { MediaType.essence(String($0)) == type }
    }
}

/// The tokens and keys of a source, as they were when its run started.
struct Credentials: Sendable {
    let tokens: PrincipalTokens
    let keys: [SignatureKey]

    /// Reads all secrets on a separate thread, because file access may block.
    ///
    /// - Returns: The secrets, or `nil` if the task was cancelled first.
    static func reading(_ configuration: HTTPActionConfiguration) async throws(HTTPActionError) -> Credentials? {
        let reading: Promise<Result<Credentials, HTTPActionError>>
        do throws(SystemResourceError) {
            reading = try OwnedThread.promise {
                Result { () throws(HTTPActionError) in try Credentials(reading: configuration) }
            }
        } catch {
            throw HTTPActionError(.noResources, error.description, source: configuration.source)
        }
        return try await reading.valueUnlessCancelled()?.get()
    }

    private init(reading configuration: HTTPActionConfiguration) throws(HTTPActionError) {
        let source = configuration.source
        do throws(WebSocketChatError) {
            tokens = try PrincipalTokens(reading: configuration.principals)
        } catch {
            throw HTTPActionError(error, source: source)
        }
        var keys: [SignatureKey] = []
        for signature in configuration.signatures {
            let name = UntrustedText.quoted(signature.principal)
            let key: [UInt8]
            do throws(SecretUnavailable) {
                key = Array(try signature.key.read().utf8)
            } catch {
                let detail = "the key of principal \(name): \(error.description)"
                throw HTTPActionError(.secretUnavailable, detail, source: source)
            }
            guard key.count >= PrincipalTokens.shortest else {
                throw HTTPActionError(
                    .invalidConfiguration,
                    "the key of principal \(name) has fewer than \(PrincipalTokens.shortest) bytes and can be guessed: "
                        + "generate a longer one at random",
                    source: source
                )
            }
            keys.append(SignatureKey(signature: signature, key: key))
        }
        self.keys = keys
    }
}
