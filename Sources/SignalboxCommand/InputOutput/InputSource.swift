/// The place from which a command reads its input.
enum InputSource: Sendable, Hashable {
    /// The text of a command-line argument.
    case text(String)
    /// The path of a file, relative to the working directory.
    case file(String)
    /// The content of stdin up to its end.
    case standardInput

    /// - Parameter argument: An argument. The argument `-` stands for stdin.
    init(_ argument: String) {
        self = argument == "-" ? .standardInput : .text(argument)
    }

    /// - Parameter path: A path. The path `-` stands for stdin.
    init(path: String) {
        self = path == "-" ? .standardInput : .file(path)
    }

    /// The name of the source in messages.
    var name: String { if case .file(let path) = self { path } else { "stdin" } }

    /// Returns all bytes of the input.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of bytes of a file or of stdin.
    ///   - what: The start of the error message. By default, it is the name of the source with a colon.
    ///   - status: The exit status of a failure.
    /// - Throws: ``CommandFailure`` if the bytes cannot be read, or if there are too many.
    func bytes(
        limit: Int,
        what: String? = nil,
        otherwise status: CommandStatus = .unreadableFile
    ) async throws(CommandFailure) -> [UInt8] {
        if case .text(let text) = self { return Array(text.utf8) }
        let content = await FileContent.waiting {
            if case .file(let path) = self {
                FileContent.read(path, limit: limit)
            } else {
                FileContent.read(.standardInput, limit: limit)
            }
        }
        do throws(FileReadError) {
            return try content.get()
        } catch {
            throw CommandFailure(status, "\(what ?? "\(name):") cannot be read: \(error)")
        }
    }

    /// Opens a file or stdin for reading chunk by chunk. If the file is a FIFO, this method waits until it has a
    /// writer.
    func reader() async throws(SystemError) -> ChunkReader {
        if case .file(let path) = self { try await ChunkReader.opening(path) } else { ChunkReader(.standardInput) }
    }
}
