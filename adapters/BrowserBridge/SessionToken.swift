import AdapterSupport
import JSBridge
import SignalboxCore

/// A page's token, as written in a URL and in a subprotocol: base64url without padding (RFC 4648, 5).
enum SessionToken {
    /// The valid lengths of a token, in bytes. A longer token would not fit into a subprotocol.
    static let lengths = 16...73

    /// Returns 128 bits from the system's random number generator, encoded as a token.
    static func random() -> String {
        var generator = SystemRandomNumberGenerator()
        return base64URL((0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    /// Reads a configured token on a separate thread, because file access may block.
    ///
    /// - Throws: `secretUnavailable` or `noResources`, or `invalidConfiguration` if the token's length is invalid.
    static func read(_ token: Secret, source: SourceName) async throws(BrowserBridgeError) -> String {
        let reading: Result<String, SecretUnavailable>
        do throws(SystemResourceError) {
            let read = try OwnedThread.promise { Result { () throws(SecretUnavailable) in try token.read() } }
            reading = await read.value()
        } catch {
            throw BrowserBridgeError(.noResources, error.description, source: source)
        }
        switch reading {
        case .success(let text) where lengths.contains(text.utf8.count): return base64URL(Array(text.utf8))
        case .success:
            let range = "\(lengths.lowerBound) to \(lengths.upperBound) bytes"
            throw BrowserBridgeError(.invalidConfiguration, "the token of the pages must have \(range)", source: source)
        case .failure(let error):
            throw BrowserBridgeError(.secretUnavailable, "the token of the pages: \(error)", source: source)
        }
    }

    static func base64URL(_ bytes: [UInt8]) -> String {
        let digits = Base64.encoded(Bytes(bytes)).compactMap { digit -> Character? in
            switch digit {
            case "+": "-"
            case "/": "_"
            case "=": nil
            default: digit
            }
        }
        return String(digits)
    }
}
