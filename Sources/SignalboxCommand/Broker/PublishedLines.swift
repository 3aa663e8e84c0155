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

/// What came of the lines of stdin, and the status that stands for it.
struct PublishReport: Sendable {
    let topic: String
    let lines: LineCounts
    /// Messages that the broker took.
    var published = 0
    /// Messages that were taken and are not known to be published.
    var failed = 0
    /// Of these: what the broker denied.
    var denied = 0

    /// How many were read and not published.
    var unpublished: Int { lines.refused + failed }

    /// What is told on stderr.
    var words: [String] {
        var words: [String] = []
        if let fault = lines.fault { words.append(fault) }
        let shown = topic.debugDescription
        if denied > 0 {
            words.append(
                "the broker denied \(denied) messages to \(shown): let this user publish there in the broker's access "
                    + "rules, or choose another topic"
            )
        }
        let end = lines.isComplete ? "" : "; stdin was not read to its end"
        let empty = lines.empty > 0 ? ", empty lines \(lines.empty)" : ""
        words.append("to \(shown): published \(published), not published \(unpublished)\(empty)\(end)")
        return words
    }

    /// The status.
    var status: CommandStatus {
        if lines.fault != nil { return .unreadableFile }
        if denied > 0 { return .refused }
        return unpublished > 0 || !lines.isComplete ? .notAsExpected : .done
    }
}

extension PublishReport {
    /// - Parameter counts: what the publisher did.
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

/// What became of lines before the publisher had them.
struct LineCounts: Sendable, Hashable {
    /// Lines that the publisher took.
    var taken = 0
    /// Lines that cannot be messages, or that nobody could take any more.
    var refused = 0
    /// Lines without a byte, which are no messages.
    var empty = 0
    /// Whether stdin came to its end.
    var isComplete = false
    /// Why stdin could not be read to its end.
    var fault: String?
}
