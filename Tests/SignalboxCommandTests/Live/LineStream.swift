import Foundation

/// The lines of a pipe, read on a thread of their own.
final class LineStream: Sendable {
    private let lines: AsyncStream<String>
    private let handle: FileHandle

    init(_ handle: FileHandle) {
        let (lines, teller) = AsyncStream.makeStream(of: String.self)
        self.lines = lines
        self.handle = handle
        let descriptor = handle.fileDescriptor
        Thread.detachNewThread {
            var pending: [UInt8] = []
            var chunk = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = read(descriptor, &chunk, chunk.count)
                guard count > 0 else { break }
                pending += chunk[..<count]
                while let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
                    teller.yield(String(decoding: pending[..<end], as: UTF8.self))
                    pending.removeSubrange(...end)
                }
            }
            if !pending.isEmpty { teller.yield(String(decoding: pending, as: UTF8.self)) }
            teller.finish()
        }
    }

    /// The next line with all of these words, or `nil` when the pipe ended before.
    func line(with words: String...) async -> String? {
        for await line in lines where words.allSatisfy(line.contains) { return line }
        return nil
    }

    /// All lines up to the end.
    func rest() async -> [String] {
        var found: [String] = []
        for await line in lines { found.append(line) }
        return found
    }

    /// Reads no more: whoever writes gets an error.
    func close() {
        try? handle.close()
    }
}
