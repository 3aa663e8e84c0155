import SignalboxCore
import SignalboxRoutes

/// The links of one file, a line each, in bounded memory. Empty lines are none.
struct LinkLines {
    /// Of a longer line this much is kept: more than any URL has, so that it is refused.
    private static let lineLimit = URLText.maximumLength + 4

    private let name: String
    private let reader: PieceReader
    private var splitter = LineSplitter(limit: lineLimit)
    private var isAtEnd = false

    /// The lines of stdin.
    static var standardInput: LinkLines { LinkLines(name: "stdin", reader: PieceReader(.standardInput)) }

    /// The lines of a file, or of a FIFO whose writer is waited for.
    ///
    /// - Parameter path: relative to the working directory.
    init(path: String) async throws(NamedFileError) {
        do throws(SystemError) {
            self.init(name: path, reader: try await PieceReader.opening(path))
        } catch {
            throw NamedFileError(path: path, reason: "cannot be read: \(error)")
        }
    }

    private init(name: String, reader: PieceReader) {
        self.name = name
        self.reader = reader
    }

    /// The lines of the next piece, possibly none; `nil` when there are no more pieces.
    mutating func more() async throws(NamedFileError) -> [String]? {
        guard !isAtEnd else { return nil }
        let piece: [UInt8]
        do throws(SystemError) {
            piece = try await reader.next()
        } catch {
            throw NamedFileError(path: name, reason: "cannot be read: \(error)")
        }
        isAtEnd = piece.isEmpty
        let lines = isAtEnd ? [splitter.lastLine()].compactMap { $0 } : splitter.lines(in: piece)
        return lines.filter { !$0.bytes.isEmpty }.map(LinkLines.link)
    }

    /// The line as text. Of a line that is not UTF-8 each place that is none becomes U+001A, which stands for a character
    /// that was found invalid and which no URL has: it is refused and not mended.
    private static func link(_ line: InputLine) -> String {
        let bytes = line.content
        return bytes.text ?? String(decoding: line.bytes, as: UTF8.self).replacing("\u{FFFD}", with: "\u{1A}")
    }
}
