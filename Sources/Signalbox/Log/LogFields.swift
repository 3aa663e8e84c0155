import Logging

/// The fields of one log line, each made safe to be shown.
struct LogFields: Sendable, ExpressibleByDictionaryLiteral {
    private(set) var metadata: Logger.Metadata = [:]

    init() {}

    init(dictionaryLiteral elements: (LogField, String)...) {
        for (field, text) in elements { self[field] = text }
    }

    /// Text from anywhere; what is kept is escaped and without secrets.
    subscript(field: LogField) -> String? {
        get { metadata[field.rawValue].map { "\($0)" } }
        set { metadata[field.rawValue] = newValue.map { .string(LogText.shown($0)) } }
    }
}

extension Logger {
    /// Writes one line: the kind's text, then the detail, with the fields.
    ///
    /// - Parameter detail: text from anywhere.
    func write(_ kind: LogKind, _ detail: String? = nil, _ fields: LogFields = LogFields()) {
        assert(
            Set(fields.metadata.keys).isSubset(of: (kind.fields + [.source]).map(\.rawValue)),
            "a line of the kind \(kind) has a field that docs/observability.md does not list"
        )
        guard logLevel <= kind.level else { return }
        let detail = detail.map { ": \(LogText.shown($0))" } ?? ""
        log(level: kind.level, "\(kind.text)\(detail)", metadata: fields.metadata)
    }
}
