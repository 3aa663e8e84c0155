/// Where a command reads its input from.
enum InputSource: Sendable, Hashable {
    /// A command-line argument, in the form of ``RawArguments``.
    case text(String)
    /// A file path, relative to the working directory.
    case file(String)
    /// Everything on stdin until it ends.
    case standardInput

    /// - Parameter argument: An argument, or `-` for stdin.
    init(_ argument: String) {
        self = argument == "-" ? .standardInput : .text(argument)
    }

    /// - Parameter path: A file path, or `-` for stdin.
    init(path: String) {
        self = path == "-" ? .standardInput : .file(path)
    }

    /// The name to use in messages.
    var name: String { if case .file(let path) = self { path } else { "stdin" } }

    /// Returns the whole input.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of bytes to read from a file or stdin.
    ///   - what: The start of the error message. The default is the name of the input followed by a colon.
    ///   - tooLarge: The exit status if there are too many bytes.
    /// - Throws: ``CommandFailure`` if the bytes cannot be read, or if there are too many.
    func bytes(
        limit: Int,
        what: String? = nil,
        tooLarge: CommandStatus = .unreadableFile
    ) async throws(CommandFailure) -> [UInt8] {
        if case .text(let text) = self { return RawArguments.bytes(of: text) }
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
            let status = error.isTooLarge ? tooLarge : .unreadableFile
            throw CommandFailure(status, "\(what ?? "\(name):") cannot be read: \(error)")
        }
    }

    /// Opens a file or stdin so that it can be read in chunks. If the file is a FIFO, this method waits until a writer
    /// opens it.
    func reader() async throws(SystemError) -> ChunkReader {
        if case .file(let path) = self { try await ChunkReader.opening(path) } else { ChunkReader(.standardInput) }
    }
}
