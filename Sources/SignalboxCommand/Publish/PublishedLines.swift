import MQTTPush

/// Publishes each line of stdin, in their order, as fast as the broker takes them: no more of it is read than that.
struct PublishedLines: Sendable {
    /// How long it waits until it looks again whether the publisher has room, or is done.
    private static let pause: Duration = .milliseconds(2)

    let publisher: MQTTPublisher
    /// The messages, but for what they say.
    let message: MQTTMessage

    /// Reads stdin to its end, and returns when everything taken has been published or has failed, or the task is cancelled.
    func run() async -> LineCounts {
        var counts = LineCounts()
        let reader = PieceReader(.standardInput)
        var splitter = LineSplitter(limit: PublishRequest.lineLimit)
        while !Task.isCancelled, !counts.isComplete {
            let piece: [UInt8]
            do throws(SystemError) {
                piece = try await reader.next()
            } catch {
                counts.fault = "stdin cannot be read: \(error)"
                break
            }
            if piece.isEmpty {
                counts.isComplete = !Task.isCancelled
                if let last = splitter.lastLine() { await publish(last, &counts) }
                break
            }
            for line in splitter.lines(in: piece) { await publish(line, &counts) }
        }
        while publisher.counts.waiting > 0, (try? await Task.sleep(for: PublishedLines.pause)) != nil {}
        return counts
    }

    private func publish(_ line: InputLine, _ counts: inout LineCounts) async {
        guard !line.isCut else {
            DiagnosticOutput.shared.tell(
                "a line is longer than \(PublishRequest.lineLimit) bytes, and was not published"
            )
            counts.refused += 1
            return
        }
        guard !line.bytes.isEmpty else {
            counts.empty += 1
            return
        }
        var message = message
        message.payload = line.bytes
        while true {
            do throws(MQTTPublishError) {
                try publisher.offer(message)
                counts.taken += 1
                return
            } catch {
                // When the task is cancelled nothing is waited for any more.
                if error.code == .queueFull, (try? await Task.sleep(for: PublishedLines.pause)) != nil { continue }
                counts.refused += 1
                return
            }
        }
    }
}
