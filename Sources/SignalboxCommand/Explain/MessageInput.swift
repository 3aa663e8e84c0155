import Foundation
import SignalboxRoutes

/// Where the message or link is that `explain` is asked about.
enum MessageInput: Sendable, Hashable {
    /// Written as an argument.
    case text(String)
    /// In a file, relative to the working directory.
    case file(String)
    /// Read from stdin up to its end.
    case standardInput

    /// - Parameter argument: what `--payload` says.
    init(payload argument: String) {
        if argument == "-" {
            self = .standardInput
        } else {
            self = argument.hasPrefix("@") ? .file(String(argument.dropFirst())) : .text(argument)
        }
    }

    /// - Parameter argument: what `--url` says.
    init(url argument: String) {
        self = argument == "-" ? .standardInput : .text(argument)
    }

    /// All bytes, which may be more than a message may have.
    ///
    /// - Throws: ``CommandRefusal`` when they cannot be read, or are more than ``FileContent/payloadLimit``.
    func bytes() async throws(CommandRefusal) -> [UInt8] {
        let name: String
        let read: Result<[UInt8], FileReadError>
        switch self {
        case .text(let text): return Array(text.utf8)
        case .file(let path):
            name = path
            read = await FileContent.waiting { FileContent.read(path, limit: FileContent.payloadLimit) }
        case .standardInput:
            name = "stdin"
            read = await FileContent.waiting { FileContent.read(STDIN_FILENO, limit: FileContent.payloadLimit) }
        }
        do throws(FileReadError) {
            return try read.get()
        } catch {
            throw CommandRefusal(.unreadableFile, "\(name): cannot be read: \(error)")
        }
    }

    /// The link; from stdin without the end of its line.
    ///
    /// - Throws: ``CommandRefusal`` when it cannot be read or is no text.
    func link() async throws(CommandRefusal) -> String {
        var bytes = try await bytes()
        if self == .standardInput, bytes.last == UInt8(ascii: "\n") {
            bytes.removeLast()
            if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandRefusal(.invalidConfiguration, "stdin: the URL is not UTF-8")
        }
        return text
    }
}
