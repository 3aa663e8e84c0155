import MQTTPush

/// Publishes the lines of stdin in order. Reads only as fast as the broker accepts messages.
struct PublishedLines: Sendable {
    /// The interval at which the publisher is checked for room, or for the end of its work.
    private static let pause: Duration = .milliseconds(2)

    let publisher: MQTTPublisher
    /// The messages without their payload.
    let message: MQTTMessage

    /// Reads stdin to its end. Returns when every accepted message was published or has failed, or on cancellation.
    func run() async -> LineCounts {
        var counts = LineCounts()
        let reader = ChunkReader(.standardInput)
        var splitter = LineSplitter(limit: PublishRequest.lineLimit)
        while !Task.isCancelled, !counts.isComplete {
            let chunk: [UInt8]
            do throws(SystemError) {
                chunk = try await reader.next()
            } catch {
                counts.readError = "stdin cannot be read: \(error)"
                break
            }
            if chunk.isEmpty {
                counts.isComplete = !Task.isCancelled
                if let last = splitter.lastLine() { await publish(last, &counts) }
                break
            }
            for line in splitter.lines(in: chunk) { await publish(line, &counts) }
        }
        while publisher.counts.waiting > 0, (try? await Task.sleep(for: PublishedLines.pause)) != nil {}
        return counts
    }

    private func publish(_ line: InputLine, _ counts: inout LineCounts) async {
        guard !line.isTruncated else {
            DiagnosticOutput.shared.report(
                "a line was not published: it is longer than \(PublishRequest.lineLimit) bytes"
            )
            counts.rejected += 1
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
                counts.accepted += 1
                return
            } catch {
                // A cancelled task gives up immediately.
                if error.code == .queueFull, (try? await Task.sleep(for: PublishedLines.pause)) != nil { continue }
                counts.rejected += 1
                return
            }
        }
    }
}

/// The results for the lines of stdin, and the exit status they lead to.
struct PublishReport: Sendable {
    let topic: String
    let lines: LineCounts
    /// The number of messages that the broker accepted.
    var published = 0
    /// The number of accepted messages that are not known to be published.
    var failed = 0
    /// The number of those that the broker denied.
    var denied = 0

    /// The number of lines that were read and not published.
    var unpublished: Int { lines.rejected + failed }

    /// The lines for stderr.
    var messages: [String] {
        var messages: [String] = []
        if let error = lines.readError { messages.append(error) }
        let shown = topic.debugDescription
        if denied > 0 {
            messages.append(
                "the broker denied \(denied) messages to \(shown): allow this user to publish there in the broker's "
                    + "access rules, or choose another topic"
            )
        }
        let end = lines.isComplete ? "" : "; stdin was not read to its end"
        let empty = lines.empty > 0 ? ", empty lines \(lines.empty)" : ""
        messages.append("to \(shown): published \(published), not published \(unpublished)\(empty)\(end)")
        return messages
    }

    /// The exit status.
    var status: CommandStatus {
        if lines.readError != nil { return .unreadableFile }
        if denied > 0 { return .refused }
        return unpublished > 0 || !lines.isComplete ? .notAsExpected : .done
    }
}

extension PublishReport {
    /// - Parameter counts: The publisher's results.
    init(topic: String, lines: LineCounts, counts: MQTTPublishCounts) {
        self.init(
            topic: topic,
            lines: lines,
            published: counts.published,
            failed: counts.failed + counts.waiting,
            denied: counts.denied
        )
    }
}

/// The numbers of lines by result, before the publisher processes them.
struct LineCounts: Sendable, Hashable {
    /// Lines that the publisher accepted.
    var accepted = 0
    /// Lines that are too long, and lines that the publisher did not accept.
    var rejected = 0
    /// Empty lines, which are not published.
    var empty = 0
    /// Whether stdin was read to its end.
    var isComplete = false
    /// The reason stdin could not be read to its end.
    var readError: String?
}
