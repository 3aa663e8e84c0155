import AdapterSupport
import HTTPClient
import SignalboxCore

/// The secrets of one request.
struct HTTPSecrets: Sendable {
    fileprivate(set) var headers: [HTTPHeader] = []
    fileprivate(set) var signatureKey: String?

    /// Reads the secrets again, so that changed files take effect at once.
    ///
    /// - Throws: ``HTTPFailure``, or `CancellationError` if the call is cancelled while a file cannot be read to its end.
    static func read(for section: HTTPSection) async throws -> HTTPSecrets {
        let readsFiles = section.secrets.contains { if case .file = $0.source { true } else { false } }
        guard readsFiles else { return try readNow(section) }
        let found = Promise<Result<HTTPSecrets, HTTPFailure>>()
        _ = BlockingThreadPool.shared.perform { error in
            if let error {
                found.set(.failure(.temporary(error.description)))
            } else {
                found.set(Result { () throws(HTTPFailure) in try readNow(section) })
            }
        }
        guard let result = await found.valueUnlessCancelled() else { throw CancellationError() }
        return try result.get()
    }

    private static func readNow(_ section: HTTPSection) throws(HTTPFailure) -> HTTPSecrets {
        var secrets = HTTPSecrets()
        for header in section.headers { secrets.headers.append(try self.header(header.name, "", header.value)) }
        if let bearer = section.bearer { secrets.headers.append(try header("Authorization", "Bearer ", bearer)) }
        if let key = section.signatureKey { secrets.signatureKey = try text(key) }
        return secrets
    }

    private static func header(_ name: String, _ prefix: String, _ secret: Secret) throws(HTTPFailure) -> HTTPHeader {
        guard let header = HTTPHeader(name, prefix + (try text(secret))) else {
            throw .temporary(
                "the \(secret) has other than visible ASCII characters, or too many, for the header \(name)"
            )
        }
        return header
    }

    private static func text(_ secret: Secret) throws(HTTPFailure) -> String {
        do throws(SecretUnavailable) { return try secret.read() } catch { throw .temporary(error.description) }
    }
}

/// A request that failed. The description names the server and the reason, and nothing else of the request.
struct HTTPFailure: RetryableError, CustomStringConvertible {
    let description: String
    var isRetryable = false
    var whenExhausted = RetryExhaustion.deadLetter
    var retryDelay: Duration?

    init(_ description: String, isRetryable: Bool = false) {
        self.description = description
        self.isRetryable = isRetryable
    }

    /// Returns a failure that is unrelated to the message, such as a server that is down. The message is retried, and finally
    /// given back to a source that redelivers.
    static func temporary(_ description: String) -> HTTPFailure {
        var failure = HTTPFailure(description, isRetryable: true)
        failure.whenExhausted = .abandon
        return failure
    }

    init(_ error: HTTPClientError, _ url: HTTPURL) {
        switch error {
        case .cancelled, .full, .stopped, .noResources, .unreachable, .insecure, .timeout, .interrupted:
            self = .temporary("\(url): \(error)")
        case .responseTooLarge, .headersTooLarge, .redirectedElsewhere: self.init("\(url): \(error)")
        }
    }

    /// - Parameter response: A response without success.
    init(_ response: HTTPResponse, _ url: HTTPURL) {
        let status = response.status
        let note = (300..<400).contains(status) ? ", which is not followed" : ""
        self.init("\(url): it answered with status \(status)\(note)", isRetryable: status == 429 || status >= 500)
        // Overload and gateways say nothing about the message. Other errors of a server may be caused by it, and come again with
        // it.
        if [429, 502, 503, 504].contains(status) { whenExhausted = .abandon }
        retryDelay = isRetryable ? response.retryAfter : nil
    }
}
