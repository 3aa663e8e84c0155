import Dispatch
import Foundation

/// Reads whole small files, with a bound.
enum FileContent {
    /// The most bytes of a configuration file.
    static let configurationLimit = 1 << 20
    /// The most bytes of a file that holds one value.
    static let valueLimit = 64 << 10
    /// The most bytes of one script of a page.
    static let scriptLimit = 16 << 20
    /// The most bytes of a document that a chat server hands out.
    static let documentLimit = 1 << 20
    /// The most bytes of a recorded run.
    static let recordLimit = 64 << 20
    /// The most bytes of a message that `explain` is asked about.
    static let payloadLimit = 16 << 20

    /// The bytes of a file.
    ///
    /// - Parameters:
    ///   - path: relative to the working directory.
    ///   - limit: the most bytes; a larger file is refused.
    static func read(_ path: String, limit: Int) -> Result<[UInt8], FileReadError> {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return .failure(FileReadError(description: SystemError.last.description)) }
        defer { close(descriptor) }
        return read(descriptor, limit: limit)
    }

    /// The bytes of an open file up to its end. Blocks as long as whoever writes to it takes.
    static func read(_ descriptor: Int32, limit: Int) -> Result<[UInt8], FileReadError> {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = Foundation.read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return .failure(FileReadError(description: SystemError.last.description)) }
            guard count > 0 else { return .success(bytes) }
            bytes.append(contentsOf: chunk[..<count])
            guard bytes.count <= limit else {
                return .failure(FileReadError(description: "it has more than \(limit) bytes"))
            }
        }
    }

    /// Reads on a thread that may wait, as whoever writes may take any time.
    static func waiting(
        for read: @escaping @Sendable () -> Result<[UInt8], FileReadError>
    ) async -> Result<[UInt8], FileReadError> {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: read()) }
        }
    }
}
