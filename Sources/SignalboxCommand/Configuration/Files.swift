import AdapterSupport
import Dispatch
import Signalbox

/// Gives access to the environment variables and files that a configuration can refer to.
struct Environment: Sendable {
    /// Returns the value of an environment variable, or `nil` if it is not set.
    let variable: @Sendable (String) -> String?
    /// Returns a file's content.
    let content: @Sendable (String) -> Result<[UInt8], FileReadError>
    /// Returns what exists at a path.
    var presence: @Sendable (String) -> FilePresence = { FilePresence(path: $0) }
    /// Returns whether every user can read the file.
    var isOpenToOthers: @Sendable (String) -> Bool = { FilePresence.isOpenToOthers($0) }

    /// The environment variables and files of this process.
    static let process = Environment(
        variable: { name in getenv(name).map { String(cString: $0) } },
        content: { FileContent.read($0, limit: FileContent.valueLimit) }
    )

    /// Returns the named variables of this process that are set.
    static func variables(_ names: [String]) -> [String: String] {
        names.reduce(into: [:]) { found, name in found[name] = process.variable(name) }
    }
}

/// What exists at a path, in as much detail as the configuration checks need.
enum FilePresence: Sendable, Hashable {
    case nothing
    case folder
    /// A file or FIFO that this process can read.
    case readable
    case unreadable

    /// Returns whether every user on this machine can read the file.
    static func isOpenToOthers(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IROTH != 0
    }

    /// - Parameter path: A path, relative to the working directory.
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

/// Reads small files as a whole, up to a size limit.
enum FileContent {
    /// The maximum size of a configuration file, in bytes.
    static let configurationLimit = 1 << 20
    /// The maximum size of a file that holds one value, in bytes.
    static let valueLimit = 64 << 10
    /// The maximum size of one page script, in bytes.
    static let scriptLimit = 16 << 20
    /// The maximum size of a document that a chat server serves, in bytes.
    static let documentLimit = 1 << 20
    /// The maximum size of a recorded run, in bytes.
    static let recordLimit = 64 << 20
    /// The maximum size of a message for `explain`, in bytes.
    static let payloadLimit = 16 << 20

    /// Returns a file's content.
    ///
    /// - Parameters:
    ///   - path: The file's path, relative to the working directory.
    ///   - limit: The maximum size in bytes. A larger file is refused.
    static func read(_ path: String, limit: Int) -> Result<[UInt8], FileReadError> {
        do throws(SystemError) {
            return read(try InputDescriptor(path: path), limit: limit)
        } catch {
            return .failure(FileReadError(description: error.description))
        }
    }

    /// Reads an open file to its end. If the file is a FIFO or pipe, this method blocks until the writer closes it.
    static func read(_ descriptor: InputDescriptor, limit: Int) -> Result<[UInt8], FileReadError> {
        var bytes: [UInt8] = []
        do throws(SystemError) {
            while true {
                let chunk = try descriptor.read(upTo: 64 << 10)
                guard !chunk.isEmpty else { return .success(bytes) }
                bytes += chunk
                guard bytes.count <= limit else {
                    return .failure(FileReadError(description: "it has more than \(limit) bytes", isTooLarge: true))
                }
            }
        } catch {
            return .failure(FileReadError(description: error.description))
        }
    }

    /// Returns the content of a file that the user named.
    ///
    /// - Parameters:
    ///   - path: The file's path, relative to the working directory.
    ///   - limit: The maximum size in bytes. A larger file is refused.
    static func bytes(of path: String, limit: Int) throws(NamedFileError) -> [UInt8] {
        do throws(FileReadError) {
            return try read(path, limit: limit).get()
        } catch {
            throw NamedFileError(path: path, reason: "cannot be read: \(error)")
        }
    }

    /// Returns the content of a file that the user named, as text.
    static func text(of path: String, limit: Int) throws(NamedFileError) -> String {
        guard let text = String(validating: try bytes(of: path, limit: limit), as: UTF8.self) else {
            throw NamedFileError(path: path, reason: "cannot be read: it is not UTF-8")
        }
        return text
    }

    /// Runs a blocking read on a dispatch queue, because the writer of a pipe can take any amount of time.
    static func waiting<Value: Sendable>(
        on queue: DispatchQueue = .global(),
        for read: @escaping @Sendable () -> Value
    ) async -> Value {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: read()) }
        }
    }
}

/// The reason why a file could not be read.
struct FileReadError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The system error, or the limit that was exceeded.
    let description: String
    /// Whether the input could be read, but exceeds the limit.
    var isTooLarge = false
}

/// A file that the user named, and the reason why it cannot be used.
struct NamedFileError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The path of the file as the user gave it.
    let path: String
    /// The reason why the file cannot be used.
    let reason: String

    /// The path and the reason on one line.
    var description: String { "\(NamedFileError.shown(path)): \(reason)" }

    /// Returns text with a path for a diagnostic. The name of a file is no secret, even if it is `staff.token`. Only text
    /// with a URL or a query, which the user may have given by mistake, is searched for secrets.
    static func shown(_ text: String) -> String {
        text.contains("://") || text.contains("?") ? Redaction.redacted(text) : text
    }
}
