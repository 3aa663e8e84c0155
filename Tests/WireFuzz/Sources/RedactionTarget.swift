@testable import Signalbox

/// Redacted text holds no secret that was marked as one, does not change when redacted again, and is one line.
enum RedactionTarget {
    private static let secret = "canary-4711-canary-4711"

    static func run(_ input: [UInt8]) {
        let text = String(decoding: input, as: UTF8.self)
        let redacted = Redaction.redacted(text)
        require(Redaction.redacted(redacted) == redacted, "it is stable")
        let line = Redaction.line(text)
        require(
            !line.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F || $0.value == 0x2028 },
            "it is one line"
        )
        for form in ["token=\(secret)", "Authorization: Bearer \(secret)", "mqtt://user:\(secret)@broker"] {
            require(!Redaction.redacted("\(form) \(text)").contains(secret), "\(form) is hidden before any text")
        }
    }
}
