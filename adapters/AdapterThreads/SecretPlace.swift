#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

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
