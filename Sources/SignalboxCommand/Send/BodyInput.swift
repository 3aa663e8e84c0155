import Foundation

/// The body that `send` is given.
enum BodyInput: Sendable {
    /// There is none.
    case none
    /// Written as an argument.
    case text(String)
    /// Read from stdin up to its end.
    case standardInput

    /// - Parameter argument: what `--body` says.
    init(_ argument: String?) {
        self = argument.map { $0 == "-" ? .standardInput : .text($0) } ?? .none
    }

    /// The body's bytes, of which there are none only when no body was given.
    ///
    /// - Throws: ``CommandRefusal`` when it is empty, larger than the limit or cannot be read.
    func bytes(limit: Int) async throws(CommandRefusal) -> [UInt8] {
        let bytes: [UInt8]
        switch self {
        case .none: return []
        case .text(let text): bytes = Array(text.utf8)
        case .standardInput:
            do throws(FileReadError) {
                bytes = try await FileContent.waiting { FileContent.read(STDIN_FILENO, limit: limit) }.get()
            } catch {
                throw CommandRefusal(.invalidConfiguration, "the body on stdin cannot be read: \(error)")
            }
        }
        guard !bytes.isEmpty else {
            throw CommandRefusal(.invalidConfiguration, "the body is empty; leave --body out, or write null")
        }
        return bytes
    }
}
