/// A user name or password by where it is kept: never by its value, which is read anew for each connection and forgotten.
public struct Secret: Sendable, Hashable {
    enum Place: Sendable, Hashable {
        case environment(String)
        case file(String)
    }

    /// The most bytes a secret may have, as MQTT counts its length in two bytes.
    static let maximumLength = 65_535

    let place: Place

    /// The value of an environment variable.
    public static func environment(_ name: String) -> Secret {
        Secret(place: .environment(name))
    }

    /// The content of a file without one newline at its end; changed content counts from the next connection on.
    public static func file(_ path: String) -> Secret {
        Secret(place: .file(path))
    }

    func read() throws(MQTTPushError) -> String {
        let bytes: [UInt8]
        switch place {
        case .environment(let name):
            guard let found = SecretPlace.environment(name) else { throw unavailable("is not set") }
            bytes = found
        case .file(let path):
            guard let found = SecretPlace.file(path, limit: Secret.maximumLength + 2) else {
                throw unavailable("cannot be read")
            }
            bytes = Secret.withoutNewline(found)
        }
        guard !bytes.isEmpty else { throw unavailable("is empty") }
        guard bytes.count <= Secret.maximumLength else { throw unavailable("is longer than 65535 bytes") }
        guard !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else {
            throw unavailable("is not UTF-8 text without NUL")
        }
        return text
    }

    private static func withoutNewline(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.last == UInt8(ascii: "\n") else { return bytes }
        let line = bytes.dropLast()
        return Array(line.last == UInt8(ascii: "\r") ? line.dropLast() : line)
    }

    private func unavailable(_ what: String) -> MQTTPushError {
        MQTTPushError(.secretUnavailable, "the \(self) \(what)")
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible {
    /// The place, never the value.
    public var description: String {
        switch place {
        case .environment(let name): "environment variable \(name)"
        case .file(let path): "file \(path)"
        }
    }

    /// The place, never the value.
    public var debugDescription: String { description }
}
