import SignalboxCore
import SignalboxStore

/// A line that ``LetterLine/exportLine`` wrote. Decoding checks the types, and ``entry(_:)`` the values.
struct ImportedLetter: Decodable {
    private let source: String
    private let factsKind: String
    private let envelope: String
    private let action: String?
    private let id: String?
    private let hasSenderID: Bool
    private let payloadKind: String
    private let outcome: String
    private let reason: String
    private let detail: String
    private let path: String?
    private let plugin: String?
    private let attempts: Int
    private let failures: Int
    private let receivedAt: String
    private let expiresAt: String?
    private let firstAt: String
    private let lastAt: String
    private let original: String
    private let originalEncoding: String?

    /// The maximum size of a line: an original message of the maximum size as Base64, and the rest.
    static let limits = MessageLimits(bytes: 1 << 28, depth: 512)

    /// Reads a line. Its newline must have been removed.
    ///
    /// - Throws: ``ImportError`` that says which member is wrong and why.
    static func entry(_ line: InputLine) throws(ImportError) -> DeadLetterEntry {
        guard !line.isTruncated else { throw ImportError("it has more than \(limits.bytes) bytes") }
        do {
            let body = try Body(json: Bytes(line.bytes), limits: limits)
            let letter = try body.decode(ImportedLetter.self)
            return try letter.entry(
                facts: try json("facts", of: body),
                explanation: try json("explanation", of: body)
            )
        } catch let error as ImportError {
            throw error
        } catch {
            throw ImportError("\(error)")
        }
    }

    private static func json(_ name: String, of body: Body) throws(ImportError) -> Bytes {
        guard let value = body.member(at: [name]) else { throw ImportError("'\(name)' is missing") }
        return value.json
    }

    private func entry(facts: Bytes, explanation: Bytes) throws -> DeadLetterEntry {
        guard outcome == "rejected" || outcome == "failed" else {
            throw ImportError("'outcome' must be rejected or failed")
        }
        guard attempts >= 0, failures >= 1 else {
            throw ImportError("'attempts' must be at least 0, and 'failures' at least 1")
        }
        guard explanation.withUnsafeBytes({ $0.first == UInt8(ascii: "[") }) else {
            throw ImportError("'explanation' must be an array")
        }
        let letter = StoredDeadLetter(
            message: try message(facts: facts),
            outcome: outcome,
            reason: reason,
            detail: detail,
            path: path,
            explanation: explanation,
            attempts: attempts,
            plugin: try plugin.map { try ImportedLetter.action($0, "plugin") }
        )
        return DeadLetterEntry(
            number: 0,
            letter: letter,
            failures: failures,
            firstAt: try ImportedLetter.time(firstAt, "firstAt"),
            lastAt: try ImportedLetter.time(lastAt, "lastAt")
        )
    }

    private func message(facts: Bytes) throws -> StoredMessage {
        let kind = EnvelopeKind(named: envelope)
        guard kind.description == envelope else { throw ImportError("'envelope' is not the name of an envelope") }
        guard let payload = PayloadKind(rawValue: payloadKind) else {
            throw ImportError("'payloadKind' must be json, text or bytes")
        }
        let actionID = id.flatMap { ActionID($0) }
        guard (id == nil) == (actionID == nil) else {
            throw ImportError("'id' must have 1 to \(ActionID.maximumLength) bytes")
        }
        guard let source = try? SourceName(source) else { throw ImportError("'source' is not the name of a source") }
        return StoredMessage(
            source: source,
            factsKind: factsKind,
            facts: facts,
            action: try action.map { try ImportedLetter.action($0, "action") },
            id: actionID,
            hasSenderID: hasSenderID,
            envelope: kind,
            payload: payload,
            receivedAt: try ImportedLetter.time(receivedAt, "receivedAt"),
            expiresAt: try expiresAt.map { try ImportedLetter.time($0, "expiresAt") },
            original: try content()
        )
    }

    private func content() throws(ImportError) -> Bytes {
        guard let originalEncoding else { return Bytes(original) }
        guard originalEncoding == "base64" else { throw ImportError("'originalEncoding' must be base64 or absent") }
        guard let bytes = Array(original.utf8).withUnsafeBytes({ Base64.decode($0) }) else {
            throw ImportError("'original' is not Base64")
        }
        return Bytes(bytes)
    }

    private static func action(_ name: String, _ member: String) throws(ImportError) -> ActionName {
        guard let action = ActionName(stored: name) else {
            throw ImportError("'\(member)' is not the name of an action")
        }
        return action
    }

    private static func time(_ text: String, _ member: String) throws(ImportError) -> WallTime {
        guard let time = WallTimeText.time(in: text) else {
            throw ImportError("'\(member)' must be a time such as 2026-01-31T23:59:59.5Z")
        }
        return time
    }
}

/// The reason why a line cannot be imported. The description does not repeat the line.
struct ImportError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
