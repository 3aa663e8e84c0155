import MQTTPush

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
