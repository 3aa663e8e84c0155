import Foundation
import Synchronization

/// Chromium's debugging protocol over two pipes: JSON, each message ended by a NUL.
/// https://chromedevtools.github.io/devtools-protocol/
final class ChromiumPipe: Sendable {
    typealias Hearer = @Sendable (_ method: String, _ parameters: ChromiumValue) -> Void
    private typealias Answer = Result<ChromiumValue, any Error>

    private struct State {
        var last = 0
        var waiting: [Int: CheckedContinuation<Answer, Never>] = [:]
        var hearers: [String: Hearer] = [:]
        var isClosed = false
    }

    private let process: ChromiumProcess
    private let state = Mutex(State())
    private let writing = Mutex(())

    init(_ process: ChromiumProcess) {
        self.process = process
        // The thread holds the object until the browser has ended.
        Thread.detachNewThread { self.read() }
    }

    /// Tells of a session's events from now on, on the pipe's thread, in order.
    func hear(_ session: String, _ hearer: @escaping Hearer) {
        state.withLock { $0.hearers[session] = hearer }
    }

    func forget(_ session: String) {
        state.withLock { $0.hearers[session] = nil }
    }

    /// Calls a method.
    ///
    /// - Throws: what the browser answers, and when it is gone.
    @discardableResult
    func call(
        _ method: String,
        _ parameters: ChromiumValue = [:],
        in session: String? = nil
    ) async throws -> ChromiumValue {
        let number = state.withLock { state in
            state.last += 1
            return state.last
        }
        var message: [String: ChromiumValue] = [
            "id": .number(Double(number)), "method": .text(method), "params": parameters,
        ]
        if let session { message["sessionId"] = .text(session) }
        let bytes = Array(ChromiumValue.object(message).bytes) + [0]
        let answer = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isClosed = state.withLock { state in
                    if !state.isClosed { state.waiting[number] = continuation }
                    return state.isClosed
                }
                if isClosed { return continuation.resume(returning: .failure(ChromiumPipe.gone)) }
                if Task.isCancelled { return finish(number, .failure(CancellationError())) }
                write(bytes)
            }
        } onCancel: {
            finish(number, .failure(CancellationError()))
        }
        return try answer.get()
    }

    private static let gone = BrokerKitError("the browser is gone")

    private func finish(_ number: Int, _ answer: Answer) {
        let waiter = state.withLock { $0.waiting.removeValue(forKey: number) }
        waiter?.resume(returning: answer)
    }

    private func write(_ bytes: [UInt8]) {
        writing.withLock { _ in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { Foundation.write(process.writeEnd, $0.baseAddress, $0.count) }
                guard count > 0 else { return }
                rest = rest.dropFirst(count)
            }
        }
    }

    // MARK: - The thread

    private func read() {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var held = Data()
        while true {
            let count = Foundation.read(process.readEnd, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { break }
            var rest = buffer[..<count]
            while let end = rest.firstIndex(of: 0) {
                held.append(contentsOf: rest[..<end])
                handle(ChromiumValue(held))
                held.removeAll(keepingCapacity: true)
                rest = rest[(end + 1)...]
            }
            held.append(contentsOf: rest)
        }
        let waiting = state.withLock { state in
            state.isClosed = true
            defer { state.waiting = [:] }
            return state.waiting
        }
        for waiter in waiting.values { waiter.resume(returning: .failure(ChromiumPipe.gone)) }
        close(process.readEnd)
        writing.withLock { _ in _ = close(process.writeEnd) }
    }

    private func handle(_ message: ChromiumValue) {
        if let number = message["id"].number {
            let error = message["error"]
            let refusal = BrokerKitError("the browser answered: \(error["message"].shown)")
            finish(Int(number), error == .null ? .success(message["result"]) : .failure(refusal))
        } else if let session = message["sessionId"].text, let method = message["method"].text {
            state.withLock { $0.hearers[session] }?(method, message["params"])
        }
    }
}
