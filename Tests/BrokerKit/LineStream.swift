public import Foundation
import SignalboxTesting
import Synchronization

/// The lines that a program writes to a pipe or a terminal, read on a separate thread.
///
/// A test either takes the lines in their order with ``line(with:file:at:)`` and ``rest(file:at:)``, or waits with
/// ``untilLine(containing:file:line:)`` for any line, whenever it arrived.
public final class LineStream: Sendable {
    private struct State {
        var lines: [String] = []
        /// The last line, which has not ended yet.
        var unfinished = ""
        /// The number of lines that a test has taken.
        var taken = 0
        var hasEnded = false
    }

    /// An error for output that ended without what a test waited for.
    public struct Ended: Error, CustomStringConvertible {
        let wanted: String
        let lines: [String]

        /// What the test waited for, and the last lines.
        public var description: String {
            "the output ended, or the wait did, without \(wanted):\n" + lines.suffix(20).joined(separator: "\n")
        }
    }

    private let state = Watched(State())
    private let handle: FileHandle
    private let isPaused: Bool
    private let isClosed = Atomic(false)

    /// Starts to read, unless `isPaused`.
    public init(_ handle: FileHandle, isPaused: Bool = false) {
        self.handle = handle
        self.isPaused = isPaused
        guard !isPaused else { return }
        // The thread keeps the handle while it reads, because a closed descriptor's number is soon reused. A dispatch
        // source may receive events after its end if its descriptor is closed while another program has a copy.
        Thread.detachNewThread { [self] in readToEnd() }
    }

    private func readToEnd() {
        var pending: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(handle.fileDescriptor, &chunk, chunk.count)
            if count < 0 && errno == EINTR { continue }
            guard count > 0, !isClosed.load(ordering: .acquiring) else { break }
            var pieces = (pending + chunk[..<count]).split(separator: 0x0A, omittingEmptySubsequences: false)
            pending = Array(pieces.removeLast())
            let lines = pieces.map { String(decoding: $0, as: UTF8.self) }
            let unfinished = String(decoding: pending, as: UTF8.self)
            state.change { state in
                state.lines += lines
                state.unfinished = unfinished
            }
        }
        let last = pending.isEmpty ? [] : [String(decoding: pending, as: UTF8.self)]
        state.change { state in
            state.lines += last
            state.hasEnded = true
        }
        if isClosed.load(ordering: .acquiring) { try? handle.close() }
    }

    /// All lines that have arrived.
    public var lines: [String] { state.value.lines }

    /// Takes lines up to the next one with all of these words.
    ///
    /// - Returns: That line, or `nil` if the output ends first.
    public func line(
        with words: String...,
        file: StaticString = #fileID,
        at line: UInt = #line
    ) async -> String? {
        while true {
            let (found, count, hasEnded) = state.change { state in
                let next = state.lines[state.taken...].firstIndex { line in words.allSatisfy { line.contains($0) } }
                state.taken = next.map { $0 + 1 } ?? state.lines.count
                return (next.map { state.lines[$0] }, state.lines.count, state.hasEnded)
            }
            guard found == nil, !hasEnded else { return found }
            guard await state.until(file: file, line: line, { $0.lines.count > count || $0.hasEnded }) else {
                return nil
            }
        }
    }

    /// Takes all further lines up to the end.
    public func rest(file: StaticString = #fileID, at line: UInt = #line) async -> [String] {
        await untilEnded(file: file, line: line)
        return state.change { state in
            defer { state.taken = state.lines.count }
            return Array(state.lines[state.taken...])
        }
    }

    /// Waits until a line has arrived that contains the text.
    public func untilLine(
        containing text: String,
        file: StaticString = #fileID,
        line: UInt = #line
    ) async throws {
        try await until("a line with '\(text)'", file, line) { lines in lines.contains { $0.contains(text) } }
    }

    /// Waits until the last line, which has not ended yet, contains the text.
    public func untilUnfinishedLine(
        containing text: String,
        file: StaticString = #fileID,
        line: UInt = #line
    ) async throws {
        await state.until(file: file, line: line) { $0.hasEnded || $0.unfinished.contains(text) }
        let state = state.value
        guard state.unfinished.contains(text) else {
            throw Ended(wanted: "'\(text)'", lines: state.lines + [state.unfinished])
        }
    }

    /// Waits until this number of lines has arrived.
    public func untilLines(_ count: Int, file: StaticString = #fileID, line: UInt = #line) async throws {
        try await until("\(count) lines", file, line) { $0.count >= count }
    }

    /// Waits until the writer has ended and all lines have arrived, or until the task is cancelled.
    public func untilEnded(file: StaticString = #fileID, line: UInt = #line) async {
        await state.until(file: file, line: line) { $0.hasEnded }
    }

    private func until(
        _ wanted: String,
        _ file: StaticString,
        _ line: UInt,
        _ isMet: @escaping @Sendable ([String]) -> Bool
    ) async throws {
        // A cancelled wait fails with the lines, which are more useful than the cancellation.
        await state.until(file: file, line: line) { $0.hasEnded || isMet($0.lines) }
        let lines = lines
        guard isMet(lines) else { throw Ended(wanted: wanted, lines: lines) }
    }

    /// Stops reading, so that the writer gets an error. A reading thread ends only when the next bytes arrive.
    public func close() {
        isClosed.store(true, ordering: .releasing)
        if isPaused { try? handle.close() }
    }
}

// MARK: - Paused output

extension LineStream {
    /// The longest wait for output, in milliseconds. After it, a test fails instead of hanging.
    private static let patience: Int32 = 120_000

    /// Returns when there are bytes to read, or after two minutes. For a paused stream.
    public func waitForBytes() async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { [self] in
                _ = hasBytes()
                continuation.resume()
            }
        }
    }

    /// Reads lines on a separate thread, and counts them without keeping them. For a paused stream.
    ///
    /// - Parameter wanted: The number of lines after which the stream is paused again.
    /// - Returns: The number of lines read: more if the last bytes had more lines; fewer if the output ends or pauses
    ///   for two minutes.
    public func countLines(_ wanted: Int) async -> Int {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { [self] in
                var found = 0
                var chunk = [UInt8](repeating: 0, count: 1 << 16)
                while found < wanted, hasBytes() {
                    let count = read(handle.fileDescriptor, &chunk, chunk.count)
                    guard count > 0 else { break }
                    found += LineStream.lineEnds(in: chunk[..<count])
                }
                continuation.resume(returning: found)
            }
        }
    }

    private func hasBytes() -> Bool {
        var entry = pollfd(fd: handle.fileDescriptor, events: Int16(POLLIN), revents: 0)
        while true {
            let count = poll(&entry, 1, LineStream.patience)
            if count >= 0 || errno != EINTR { return count > 0 }
        }
    }

    private static func lineEnds(in bytes: ArraySlice<UInt8>) -> Int {
        bytes.withUnsafeBytes { bytes in
            var count = 0
            for byte in bytes where byte == UInt8(ascii: "\n") { count += 1 }
            return count
        }
    }
}
