import Logging
import SignalboxCore
import SignalboxTesting

/// Reads from a page's console what its calls were answered: it can be asked after the page has ended, too.
struct AnswerLog: LogHandler {
    private let answers = Watched<[String: ConformanceAnswer]>([:])
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let words = event.message.description.split(separator: " ", maxSplits: 3).map(String.init)
        guard words.count == 4, words[0] == "answer" else { return }
        let answer = words[2] == "reply" ? ConformanceAnswer.reply(Bytes(words[3])) : .error(code: words[3])
        answers.change { $0[words[1]] = answer }
    }

    func answer(to id: String) async throws -> ConformanceAnswer {
        await answers.until { $0[id] != nil }
        guard let answer = answers.value[id] else { throw CancellationError() }
        return answer
    }
}
