import Dispatch
import Foundation
import Signalbox

/// What a configuration may refer to outside itself.
struct Surroundings: Sendable {
    /// The value of an environment variable, or `nil` when it is not set.
    let variable: @Sendable (String) -> String?
    /// The content of a file.
    let content: @Sendable (String) -> Result<[UInt8], FileReadError>
    /// What there is at a path.
    var presence: @Sendable (String) -> FilePresence = { FilePresence(path: $0) }
    /// Whether every user may read the file.
    var isOpenToOthers: @Sendable (String) -> Bool = { FilePresence.isOpenToOthers($0) }

    /// The process's own environment and files.
    static let process = Surroundings(
        variable: { ProcessInfo.processInfo.environment[$0] },
        content: { FileContent.read($0, limit: FileContent.valueLimit) }
    )
}

/// What there is at a path, as far as a check of a configuration wants to know.
enum FilePresence: Sendable, Hashable {
    case nothing
    case folder
    /// A file or a FIFO that this process may read.
    case readable
    case unreadable

    /// Whether every user of the machine may read the file at the path.
    static func isOpenToOthers(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IROTH != 0
    }

    /// - Parameter path: relative to the working directory.
    init(path: String) {
        var status = stat()
        if stat(path, &status) != 0 {
            self = errno == EACCES ? .unreadable : .nothing
        } else if status.st_mode & S_IFMT == S_IFDIR {
            self = .folder
        } else {
            self = access(path, R_OK) == 0 ? .readable : .unreadable
        }
    }
}

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

/// Why a file was not read.
struct FileReadError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What the system says, or which limit was passed.
    let description: String
}

/// A file that the user named and that is of no use: which one, and why.
struct NamedFileError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The file as the user named it.
    let path: String
    /// Why it is of no use.
    let reason: String

    /// One line. A URL in the place of a path may hold a secret.
    var description: String { "\(Redaction.redacted(path)): \(reason)" }

    /// The content of a file as text.
    ///
    /// - Parameters:
    ///   - path: relative to the working directory.
    ///   - limit: the most bytes; a larger file is refused.
    static func text(of path: String, limit: Int) throws(NamedFileError) -> String {
        switch FileContent.read(path, limit: limit) {
        case .failure(let error): throw NamedFileError(path: path, reason: "cannot be read: \(error)")
        case .success(let bytes):
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw NamedFileError(path: path, reason: "cannot be read: it is not UTF-8")
            }
            return text
        }
    }
}
