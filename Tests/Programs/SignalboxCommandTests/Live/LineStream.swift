import Foundation
import Synchronization

@testable import SignalboxTesting

/// The lines of a pipe, read on a thread of their own.
final class LineStream: Sendable {
    private let lines: AsyncStream<String>
    private let handle: FileHandle
    private let isPaused: Bool
    private let isClosed = Atomic(false)

    init(_ handle: FileHandle, isPaused: Bool = false) {
        let (lines, teller) = AsyncStream.makeStream(of: String.self)
        self.lines = lines
        self.handle = handle
        self.isPaused = isPaused
        guard !isPaused else { return }
        // It holds the handle as long as it reads: a closed descriptor's number soon belongs to another pipe.
        Thread.detachNewThread { [self] in
            let descriptor = handle.fileDescriptor
            var pending: [UInt8] = []
            var chunk = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = read(descriptor, &chunk, chunk.count)
                guard count > 0, !isClosed.load(ordering: .acquiring) else { break }
                pending += chunk[..<count]
                while let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
                    teller.yield(String(decoding: pending[..<end], as: UTF8.self))
                    pending.removeSubrange(...end)
                }
            }
            if !pending.isEmpty { teller.yield(String(decoding: pending, as: UTF8.self)) }
            teller.finish()
            if isClosed.load(ordering: .acquiring) { try? handle.close() }
        }
    }

    /// In milliseconds: what does not come by then never comes, and the test shall fail and not hang.
    static let patience: Int32 = 120_000

    /// Returns when something can be read, or nothing comes for longer than a test lasts; for a paused stream.
    func waitForBytes() async {
        let descriptor = handle.fileDescriptor
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                while poll(&entry, 1, LineStream.patience) < 0 && errno == EINTR {}
                continuation.resume()
            }
        }
    }

    /// The next line with all of these words, or `nil` when the pipe ended before.
    func line(with words: String..., file: StaticString = #fileID, at place: UInt = #line) async -> String? {
        await OpenWaits.noting(file, place) {
            for await line in lines where words.allSatisfy(line.contains) { return line }
            return nil
        }
    }

    /// All lines up to the end.
    func rest(file: StaticString = #fileID, at place: UInt = #line) async -> [String] {
        await OpenWaits.noting(file, place) {
            var found: [String] = []
            for await line in lines { found.append(line) }
            return found
        }
    }

    /// Reads no more: whoever writes gets an error. A thread that reads goes on to the next bytes before it ends.
    func close() {
        isClosed.store(true, ordering: .releasing)
        if isPaused { try? handle.close() }
    }
}
