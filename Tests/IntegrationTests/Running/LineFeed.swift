import BrokerKit
import Foundation
import Synchronization

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
        var waiters: [Int: Waiter] = [:]
        var made = 0
    }

    private struct Waiter {
        let isMet: @Sendable ([String]) -> Bool
        let continuation: CheckedContinuation<Bool, Never>
    }

    let pipe = Pipe.unshared()
    private let state = Mutex(State())

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

    var lines: [String] { state.withLock { $0.lines } }

    func untilLine(containing text: String) async throws {
        try await until("a line with '\(text)'") { lines in lines.contains { $0.contains(text) } }
    }

    func untilLines(_ count: Int) async throws {
        try await until("\(count) lines") { $0.count >= count }
    }

    /// Waits until whoever writes has ended, and all lines are here, or the task is cancelled.
    func untilEnded() async {
        try? await until("its end") { _ in false }
    }

    private func until(_ wanted: String, _ isMet: @escaping @Sendable ([String]) -> Bool) async throws {
        let number = state.withLock { state in
            state.made += 1
            return state.made
        }
        let met = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let known = state.withLock { state -> Bool? in
                    if isMet(state.lines) { return true }
                    if state.hasEnded { return false }
                    state.waiters[number] = Waiter(isMet: isMet, continuation: continuation)
                    return nil
                }
                if let known { return continuation.resume(returning: known) }
                if Task.isCancelled { giveUp(number) }
            }
        } onCancel: {
            giveUp(number)
        }
        guard met else { throw Ended(wanted: wanted, lines: lines) }
    }

    private func giveUp(_ number: Int) {
        let waiter = state.withLock { $0.waiters.removeValue(forKey: number) }
        waiter?.continuation.resume(returning: false)
    }

    private func take(_ data: Data) {
        let resumed = state.withLock { state -> [(Waiter, Bool)] in
            state.partial.append(data)
            var pieces = state.partial.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            state.partial = Data(pieces.popLast() ?? Data())
            state.lines += pieces.map { String(decoding: $0, as: UTF8.self) }
            state.hasEnded = state.hasEnded || data.isEmpty
            let answers = state.waiters.map { (number: $0, waiter: $1, isMet: $1.isMet(state.lines)) }
            let ready = answers.filter { $0.isMet || state.hasEnded }
            for answer in ready { state.waiters[answer.number] = nil }
            return ready.map { ($0.waiter, $0.isMet) }
        }
        for (waiter, isMet) in resumed { waiter.continuation.resume(returning: isMet) }
    }
}
