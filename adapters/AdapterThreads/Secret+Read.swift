package import SignalboxCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

extension Secret {
    /// The most bytes a secret may have, as MQTT counts its length in two bytes.
    package static let maximumLength = 65_535

    /// The value, now. Reads a file where it is kept in one: not for the cooperative pool's threads.
    ///
    /// - Throws: ``SecretUnavailable`` when the place is empty, cannot be read, or holds no text without NUL.
    package func read() throws(SecretUnavailable) -> String {
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
        case .text(let value):
            bytes = Array(value.utf8)
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

    private func unavailable(_ what: String) -> SecretUnavailable {
        SecretUnavailable(description: "the \(self) \(what)")
    }
}

/// A secret could not be read from where it is kept.
package struct SecretUnavailable: Error, Sendable, Hashable, CustomStringConvertible {
    /// The place and what is wrong with it; never the value.
    package let description: String
}

/// Reads the places where secrets are kept.
enum SecretPlace {
    static func environment(_ name: String) -> [UInt8]? {
        guard let value = getenv(name) else { return nil }
        return Array(UnsafeRawBufferPointer(start: value, count: strlen(value)))
    }

    /// At most `limit` bytes from the start of a file, or `nil` when it cannot be opened or read.
    static func file(_ path: String, limit: Int) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var content: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4_096)
        while content.count < limit {
            let count = read(descriptor, &chunk, min(chunk.count, limit - content.count))
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { return nil }
            if count == 0 { break }
            content += chunk[..<count]
        }
        return content
    }
}
