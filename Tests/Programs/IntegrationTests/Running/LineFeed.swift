import BrokerKit
import Foundation

@testable import SignalboxTesting

/// The lines that a program writes to a pipe, kept, and told to whoever waits for them.
final class LineFeed: Sendable {
    struct Ended: Error, CustomStringConvertible {
        let wanted: String
        let lines: [String]
        var description: String {
            "the output ended, or the wait did, without \(wanted):\n" + lines.suffix(20).joined(separator: "\n")
        }
    }

    private struct State {
        var partial = Data()
        var lines: [String] = []
        var hasEnded = false
    }

    let pipe = Pipe.unshared()
    private let state = Watched(State())

    init() {
        // On a thread of its own: a dispatch source's descriptor may be closed while a program that was started meanwhile still
        // has a copy of it, and then the source is told of it after it is gone.
        Thread.detachNewThread { [weak self, handle = pipe.fileHandleForReading] in
            var chunk = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = read(handle.fileDescriptor, &chunk, chunk.count)
                if count < 0 && errno == EINTR { continue }
                self?.take(Data(chunk[..<max(0, count)]))
                guard count > 0 else { break }
            }
        }
    }

    var lines: [String] { state.value.lines }

    func untilLine(containing text: String, file: StaticString = #fileID, line: UInt = #line) async throws {
        try await until("a line with '\(text)'", file, line) { lines in lines.contains { $0.contains(text) } }
    }

    func untilLines(_ count: Int, file: StaticString = #fileID, line: UInt = #line) async throws {
        try await until("\(count) lines", file, line) { $0.count >= count }
    }

    /// Waits until whoever writes has ended, and all lines are here, or the task is cancelled.
    func untilEnded(file: StaticString = #fileID, line: UInt = #line) async {
        try? await until("its end", file, line) { _ in false }
    }

    private func until(
        _ wanted: String,
        _ file: StaticString,
        _ line: UInt,
        _ isMet: @escaping @Sendable ([String]) -> Bool
    ) async throws {
        // A cancelled wait is one without the lines, which tell more than the cancellation.
        await state.until(file: file, line: line) { $0.hasEnded || isMet($0.lines) }
        guard isMet(lines) else { throw Ended(wanted: wanted, lines: lines) }
    }

    private func take(_ data: Data) {
        state.change { state in
            state.partial.append(data)
            var pieces = state.partial.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            state.partial = Data(pieces.popLast() ?? Data())
            state.lines += pieces.map { String(decoding: $0, as: UTF8.self) }
            state.hasEnded = state.hasEnded || data.isEmpty
        }
    }
}
