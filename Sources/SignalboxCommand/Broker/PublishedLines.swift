import MQTTPush

/// Publishes the lines of stdin in order. Stdin is read only as fast as the broker accepts messages.
struct PublishedLines: Sendable {
    /// The maximum length of a line, in bytes.
    private static let lineLimit = 8 << 20

    /// What a report says if the end came first.
    static let missing = "stdin was not read to its end"

    let publisher: MQTTPublisher
    /// The message to publish for each line. Its payload is still empty.
    let message: MQTTMessage
    /// The minimum time between the starts of two messages, or `nil` for none.
    let interval: Duration?
    /// Counts what was read and refused, for the progress line.
    let meter: PublishMeter

    /// Reads stdin to its end. This method returns when every accepted message was published or has failed, or when the
    /// task is cancelled.
    func run() async -> PublishReport {
        var report = PublishReport(topic: message.topic)
        var reader = LineReader(limit: PublishedLines.lineLimit)
        var paced = PacedPublisher(publisher, interval: interval)
        var bytes = 0
        do throws(SystemError) {
            while !Task.isCancelled, let lines = try await reader.next() {
                for line in lines where !Task.isCancelled {
                    await publish(line, with: &paced, &report)
                    bytes += line.bytes.count + 1
                    meter.record(bytes: min(bytes, reader.bytes), refused: report.rejected)
                }
                bytes = reader.bytes
            }
            report.isComplete = !Task.isCancelled
        } catch {
            report.readError = "stdin cannot be read: \(error)"
        }
        await paced.finish()
        return report
    }

    private func publish(_ line: InputLine, with paced: inout PacedPublisher, _ report: inout PublishReport) async {
        guard !line.isTruncated else {
            DiagnosticOutput.shared.report(
                "a line was not published: it is longer than \(PublishedLines.lineLimit) bytes"
            )
            report.rejected += 1
            return
        }
        guard !line.bytes.isEmpty else {
            report.empty += 1
            return
        }
        var message = message
        message.payload = line.bytes
        // A line that waited for room when the command was ended was not offered.
        if await !paced.publish(message), !Task.isCancelled { report.rejected += 1 }
    }
}

/// What happened to many messages, and the exit status for that result.
struct PublishReport: Sendable {
    let topic: String
    /// Why the report does not cover all messages if it is not complete.
    var missing = PublishedLines.missing
    /// The number of messages that were too long or that the publisher refused.
    var rejected = 0
    /// The number of empty lines. They are not published.
    var empty = 0
    /// Whether stdin was read to its end, or the message was repeated as often as it had to be.
    var isComplete = false
    /// The reason why stdin could not be read to its end, or `nil` if reading did not fail.
    var readError: String?
    /// The number of messages that the broker accepted.
    var published = 0
    /// The number of messages that the publisher accepted but that may not have been published.
    var failed = 0
    /// The number of failed messages that the broker denied.
    var denied = 0

    /// The number of messages that were not published.
    var unpublished: Int { rejected + failed }

    /// The lines to write to stderr.
    var messages: [String] {
        var messages: [String] = []
        if let readError { messages.append(readError) }
        let shown = topic.debugDescription
        if denied > 0 {
            messages.append(
                "the broker denied \(denied == 1 ? "1 message" : "\(denied) messages") to \(shown): allow this user to publish there in the broker's "
                    + "access rules, or choose another topic"
            )
        }
        let end = isComplete ? "" : "; \(missing)"
        let empty = empty > 0 ? ", empty lines \(empty)" : ""
        messages.append("to \(shown): published \(published), not published \(unpublished)\(empty)\(end)")
        return messages
    }

    /// The exit status.
    var status: CommandStatus {
        if readError != nil { return .unreadableFile }
        if denied > 0 { return .refused }
        return unpublished > 0 || !isComplete ? .notAsExpected : .done
    }

    /// Adds the publisher's counts.
    mutating func add(_ counts: MQTTPublishCounts) {
        published = counts.published
        failed = counts.failed + counts.waiting
        denied = counts.denied
    }
}
