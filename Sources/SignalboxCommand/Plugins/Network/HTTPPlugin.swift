import AdapterSupport
import HTTPClient
import SecureTransport
import SignalboxCore
import Synchronization

/// Sends each action to an HTTP server. The body is that of the request, the server's answer the reply, and its status the
/// outcome.
struct HTTPPlugin: Sendable {
    let section: HTTPSection
    let client: HTTPClient

    /// Sends the action and returns the reply as JSON text.
    ///
    /// - Parameter timeout: The maximum time of the request, which can be retried after it.
    /// - Throws: ``HTTPFailure``, or `CancellationError` if the call is cancelled.
    func reply(to info: RawBody, _ context: ActionContext, timeout: Duration) async throws -> Bytes {
        let body = ActionRecord.shown(info, context)
        let secrets = try await HTTPSecrets.read(for: section)
        var request = HTTPRequest(section.url, method: section.method, body: Array(body.bytes))
        request.timeout = timeout
        request.connectTimeout = section.connectTimeout
        request.maximumResponse = section.maximumResponse
        request.headers = HTTPFacts.headers(context) + secrets.headers
        // Headers that the configuration sets come first.
        if !secrets.headers.contains(where: { $0.name.lowercased() == TraceContext.parentKey }) {
            request.headers += (context.passedTrace?.members ?? []).compactMap { HTTPHeader($0.name, $0.value) }
        }
        if !secrets.headers.contains(where: { $0.name.lowercased() == "content-type" }) {
            request.headers += [HTTPHeader("Content-Type", body.kind.contentType)].compactMap { $0 }
        }
        if let key = secrets.signatureKey {
            request.headers.append(try HTTPSignature.header(of: request.body, key: key, at: .now()))
        }
        let response: HTTPResponse
        do throws(HTTPClientError) {
            response = try await client.send(request)
        } catch {
            if case .cancelled = error { throw CancellationError() }
            throw HTTPFailure(error, section.url)
        }
        guard (200..<300).contains(response.status) else { throw HTTPFailure(response, section.url) }
        return try section.output.reply(
            response.body,
            of: "the answer of \(section.url)",
            limit: section.maximumResponse
        )
    }
}

/// The clients of all `http` plugins, one for each way to use TLS. Safe to use from any thread.
final class HTTPClientTable: Sendable {
    private let clients = Mutex<[HTTPSecurity: HTTPClient]>([:])

    /// Returns the client that all plugins with these settings share.
    func client(for security: HTTPSecurity) -> HTTPClient {
        clients.withLock { clients in
            let client = clients[security] ?? HTTPClient(security)
            clients[security] = client
            return client
        }
    }
}

/// What a server learns about an action from the headers of its request.
enum HTTPFacts {
    /// Senders choose some of the values, so a value too long for a header is left out, and a character that a header cannot
    /// have, or that could begin another one, is encoded.
    static func headers(_ context: ActionContext) -> [HTTPHeader] {
        let id = encoded(context.action.id.text)
        return [
            HTTPHeader("X-Signalbox-Action", encoded(context.action.name.text)),
            HTTPHeader("X-Signalbox-Id", id),
            HTTPHeader("X-Signalbox-Source", encoded(context.origin.source.text)),
            HTTPHeader("X-Signalbox-Attempt", "\(context.attempt)"),
            HTTPHeader("Idempotency-Key", id),
        ].compactMap { $0 }
    }

    /// Returns text with `%` and everything that is not a visible ASCII character percent-encoded, byte by byte.
    static func encoded(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        let bytes = text.utf8.flatMap { byte -> [UInt8] in
            guard byte <= 0x20 || byte >= 0x7F || byte == UInt8(ascii: "%") else { return [byte] }
            return [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// The header with which a server checks that a request comes from here, in the form that Stripe's webhooks have.
enum HTTPSignature {
    /// Returns the header for a body. The key is used as its bytes in UTF-8.
    static func header(of body: [UInt8], key: String, at time: WallTime) throws(HTTPFailure) -> HTTPHeader {
        let signed = Array("\(time.seconds).".utf8) + body
        guard let code = MessageAuthentication.sha256(of: signed, key: Array(key.utf8)),
            let header = HTTPHeader("X-Signalbox-Signature", "t=\(time.seconds),v1=\(code.hexadecimal)")
        else { throw .temporary("the request cannot be signed; there is too little memory") }
        return header
    }
}

extension PayloadKind {
    /// The media type of a body of this kind.
    fileprivate var contentType: String {
        switch self {
        case .json: "application/json"
        case .text: "text/plain; charset=utf-8"
        default: "application/octet-stream"
        }
    }
}
