@testable import BrowserBridge
@testable import JSBridge
@testable import Signalbox
@testable import SignalboxCommand

/// Checks that the ranges of a page's message lie within it.
enum PageTarget {
    static func run(_ input: [UInt8]) {
        input.withUnsafeBytes { bytes in
            guard let frame = try? PageFrame(bytes) else { return }
            require(frame.json.lowerBound <= frame.json.upperBound, "the range of the JSON is valid")
            require(frame.json.upperBound == input.count, "the JSON extends to the end")
            guard case .call(_, _, let handler?) = frame.kind else { return }
            require(
                handler.upperBound <= input.count && handler.lowerBound <= handler.upperBound,
                "the range of the handler is valid"
            )
        }
    }
}

/// Checks that the ranges of a text's records lie within it, and that the reader reaches its end.
enum RelayTarget {
    static func run(_ input: [UInt8]) {
        input.withUnsafeBytes { bytes in
            var reader = RelayReader(bytes)
            guard (try? reader.header()) != nil else { return }
            var count = 0
            while let record = try? reader.record() {
                count += 1
                require(count <= input.count, "a record is within the input")
                for range in ranges(record) {
                    require(range.lowerBound >= 0 && range.upperBound <= input.count, "a range is within the text")
                }
            }
        }
    }

    private static func ranges(_ record: RelayRecord) -> [Range<Int>] {
        switch record {
        case .hello, .full, .withheld: []
        case .call(let call): [call.handler, call.json]
        case .answer(_, _, let text): [text]
        case .warn(let text), .error(let text): [text]
        }
    }
}

/// Checks that each finding has a position and fits on one line, and that a refused configuration has an error.
enum ConfigurationTarget {
    private static let environment = Environment(
        variable: { $0 == "SET" ? "value" : nil },
        content: { _ in .failure(FileReadError(description: "no such file")) },
        presence: { _ in .nothing },
        isOpenToOthers: { _ in false }
    )

    static func run(_ input: [UInt8]) {
        let text = String(decoding: input, as: UTF8.self)
        let result = ConfigurationReader.lint(text, file: "c.yaml", readsSecrets: true, environment: environment)
        require(result.configuration != nil || result.errors > 0, "a refused configuration has an error")
        for finding in result.findings {
            require(finding.line >= 1 && finding.column >= 1, "\(finding) has a position")
            require(!finding.description.contains("\n"), "a finding is one line")
        }
    }
}

/// Checks that redaction hides marked secrets and is idempotent, and that a logged text is one line.
enum RedactionTarget {
    private static let secret = "canary-4711-canary-4711"

    static func run(_ input: [UInt8]) {
        let text = String(decoding: input, as: UTF8.self)
        let redacted = Redaction.redacted(text)
        require(Redaction.redacted(redacted) == redacted, "redaction is idempotent")
        let line = Redaction.line(text)
        require(
            !line.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F || $0.value == 0x2028 },
            "the redacted text is one line"
        )
        for form in ["token=\(secret)", "Authorization: Bearer \(secret)", "mqtt://user:\(secret)@broker"] {
            require(!Redaction.redacted("\(form) \(text)").contains(secret), "\(form) is hidden before any text")
        }
    }
}
