package import SignalboxCore

extension Secret {
    /// The maximum length of a secret, in bytes. MQTT encodes this length in two bytes.
    package static let maximumLength = 65_535

    /// Returns the secret's current value. This method may read a file, so do not call it on the cooperative pool.
    ///
    /// - Throws: ``SecretUnavailable`` if the value is missing, unreadable, empty or too long, is not UTF-8, or
    ///   contains a NUL.
    package func read() throws(SecretUnavailable) -> String {
        let bytes: [UInt8]
        switch source {
        case .environment(let name):
            guard let found = getenv(name) else { throw unavailable("is not set") }
            bytes = Array(UnsafeRawBufferPointer(start: found, count: strlen(found)))
        case .file(let path):
            do throws(ReadFailure) {
                bytes = Secret.withoutNewline(try contents(of: path, limit: Secret.maximumLength + 2))
            } catch {
                throw unavailable("cannot be read: \(String(cString: strerror(error.code)))")
            }
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

/// The error thrown when a secret cannot be read.
package struct SecretUnavailable: Error, Sendable, Hashable, CustomStringConvertible {
    /// Where the secret comes from and why it cannot be read. The value is never included.
    package let description: String
}

/// The number of the system error (errno(3)) that ended the reading of a file.
private struct ReadFailure: Error {
    let code: Int32
}

/// Returns up to `limit` bytes from the start of a file.
private func contents(of path: String, limit: Int) throws(ReadFailure) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw ReadFailure(code: errno) }
    defer { close(descriptor) }
    var content: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4_096)
    while content.count < limit {
        let count = read(descriptor, &chunk, min(chunk.count, limit - content.count))
        if count < 0 && errno == EINTR { continue }
        guard count >= 0 else { throw ReadFailure(code: errno) }
        if count == 0 { break }
        content += chunk[..<count]
    }
    return content
}
