#if JavaScriptCore
import AdapterSupport
import Logging
import SignalboxCore

/// Runs a page in a separate process, and exchanges calls and outcomes with that process. It is confined to the page's
/// thread.
///
/// The process is not trusted. The data that it sends is bounded and parsed again here, and its end is always detected.
final class RemotePage {
    private let run: PageRun
    private let limits: ScriptProcess
    private let child: ChildProcess
    private var reader: WorkerFrameReader
    /// Whether the frame reader might hold complete frames.
    private var holdsFrames = false
    /// The bytes waiting to be written to the process.
    private var pending: [UInt8] = []
    private var hasSentStop = false
    private var hasEnded = false
    private var lastCheck = ContinuousClock.now

    /// How often the process's memory is checked.
    private static let checkInterval: Duration = .milliseconds(50)

    private var parts: PageRun.Parts { run.parts }
    private var control: PageControl { parts.control }
    private var configuration: JavaScriptCoreConfiguration { parts.configuration }

    /// - Throws: `noResources` if the process cannot be started.
    init(_ run: PageRun, in process: ScriptProcess) throws(JSBridgeError) {
        self.run = run
        limits = process
        let configuration = run.parts.configuration
        // The size limit for a message, plus space for a name, a sentence, escapes and numbers.
        reader = WorkerFrameReader(limit: configuration.limits.bytes + 65_536)
        child = try ChildProcess(process, source: configuration.source)
    }

    /// Serves the page until it ends, and then kills the process. The run can fail with `executionTimeLimit`,
    /// `heapLimit` or `pageFailed`.
    func serve() {
        let json = (try? BodyWriter.write(WorkerConfiguration(configuration))) ?? Bytes([])
        pending += WorkerFrame(kind: .begin, texts: [Array(json)]).bytes
        while !hasEnded, run.failure == nil, !control.isClosing {
            send()
            takeFrames()
            run.submit()
            checkLimits()
            wait()
        }
        run.submit(isLast: true)
        child.end()
    }

    // MARK: - To the page

    private func send() {
        run.deliver { token, notice in
            switch notice {
            case .accepted: pending += WorkerFrame(kind: .accepted, number: token).bytes
            case .outcome(let outcome): pending += WorkerFrame(settled: token, outcome).bytes
            }
        }
        for message in parts.mailbox.takeMessages() {
            let texts = [Array(message.action.bytes), Array((message.id?.text ?? "").utf8), Array(message.body)]
            pending += WorkerFrame(kind: .message, number: message.number, texts: texts).bytes
        }
        if control.isStopping, !hasSentStop {
            hasSentStop = true
            pending += WorkerFrame(kind: .stop).bytes
        }
        flush()
    }

    private func flush() {
        while !pending.isEmpty {
            let count = pending.withUnsafeBytes { child.trySend($0) }
            if count < 0 && errno == EINTR { continue }
            // If the process has ended, the next read detects it.
            guard count > 0 else { return }
            pending.removeFirst(count)
        }
    }

    // MARK: - From the page

    private func wait() {
        // Reading pauses while the program has no room, which blocks the page in its process.
        let reads = !run.isFull && !holdsFrames
        var entries = [
            pollfd(
                // The socket is left out while reading is paused, because poll would keep reporting a closed socket
                // immediately.
                fd: reads ? child.socket : -1,
                events: Int16(POLLIN) | Int16(pending.isEmpty ? 0 : POLLOUT),
                revents: 0
            ),
            pollfd(fd: control.wake.readEnd, events: Int16(POLLIN), revents: 0),
        ]
        let limit = holdsFrames && !run.isFull ? 0 : RemotePage.checkInterval.pollMilliseconds
        guard poll(&entries, nfds_t(entries.count), limit) > 0 else { return }
        if entries[1].revents != 0 { control.wake.drain() }
        if entries[0].revents & Int16(POLLIN | POLLHUP | POLLERR) != 0 { readSome() }
    }

    private func readSome() {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        let count = read(child.socket, &chunk, chunk.count)
        if count < 0 && (errno == EINTR || errno == EAGAIN) { return }
        guard count > 0 else { return run.fail(.pageFailed, "the page's process ended \(child.reap())") }
        chunk.withUnsafeBytes { reader.take(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        holdsFrames = true
    }

    /// Processes complete frames until the page has sent as many calls as one batch can hold.
    private func takeFrames() {
        do throws(WorkerFrameError) {
            while holdsFrames, !hasEnded, !run.isFull {
                if let frame = try reader.next() { take(frame) } else { holdsFrames = false }
            }
        } catch {
            run.fail(.pageFailed, "the page's process sent an invalid frame")
        }
    }

    private func take(_ frame: WorkerFrame) {
        switch frame.kind {
        case .call: called(frame)
        case .answer: answered(frame)
        case .log: log(frame)
        case .ended:
            hasEnded = true
            let code = JSBridgeError.Code(rawValue: frame.text(0))
            guard !code.rawValue.isEmpty else { return }
            let isOverLimit = code == .executionTimeLimit || code == .heapLimit
            run.fail(isOverLimit ? code : .pageFailed, String(frame.text(1).prefix(500)))
        case .begin, .accepted, .settled, .message, .stop:
            run.fail(.pageFailed, "the page's process sent an invalid frame")
        }
    }

    private func called(_ frame: WorkerFrame) {
        guard let json = frame.texts.first else { return }
        let handler = frame.text(1)
        json.withUnsafeBytes { json in
            run.post(
                handler.isEmpty ? nil : handler,
                json,
                isCut: frame.texts.count > 2,
                number: frame.number,
                timeout: Double(frame.value) / 1_000
            )
        }
    }

    private func answered(_ frame: WorkerFrame) {
        guard frame.text(0) != "closed" else { return parts.mailbox.finish(frame.number, .failure(.closed)) }
        let answer = PageAnswer(
            PageAnswerKind(rawValue: frame.text(0)),
            frame.texts.count > 1 ? Bytes(frame.texts[1]) : nil,
            detail: frame.text(1),
            limit: configuration.limits.bytes
        )
        parts.mailbox.finish(frame.number, answer)
    }

    private func log(_ frame: WorkerFrame) {
        let error = "script error: "
        let text = frame.text(0)
        if text.hasPrefix(error) {
            parts.log.failed(String(text.dropFirst(error.count)))
        } else {
            let levels = Logger.Level.allCases
            parts.log.console(levels[min(Int(frame.value & 0xFF), levels.count - 1)], text)
        }
    }

    // MARK: - Limits

    private func checkLimits() {
        let now = ContinuousClock.now
        guard now - lastCheck >= RemotePage.checkInterval else { return }
        lastCheck = now
        parts.log.reportWithheld(at: now)
        if let memory = child.memory, memory > limits.memoryLimit {
            run.fail(
                .heapLimit,
                "the page's process takes more than \(limits.memoryLimit) bytes; raise the limit or use less memory"
            )
        } else if pending.count > 64 << 20 {
            run.fail(.pageFailed, "the page's process does not read its messages")
        }
    }
}
#endif
