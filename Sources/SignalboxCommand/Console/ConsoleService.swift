import AdapterSupport
import Dispatch
import Logging
import Signalbox
import SignalboxCore
import SignalboxRoutes
import SignalboxStore
import WebSocketChat

/// Answers the questions of the console. Safe to use from any thread.
final class ConsoleService: Sendable {
    /// How many dead letters of the store are listed.
    private static let letterLimit = 50
    /// How many bytes of dead letters an export has at most.
    private static let exportLimit = 32 << 20

    /// How long an answer waits for the outcome of an action.
    private static let sendLimit = Duration.seconds(20)

    private let reports: StatusReports
    private let sender: ActionSender
    private let reload: ConfigurationReload
    private let file: String
    private let actions: ConsoleActions
    private let logger: Logger
    /// The queue for reading files, because a task must not block.
    private let queue = DispatchQueue(label: "signalbox.console")

    /// - Parameters:
    ///   - sender: Dispatches actions.
    ///   - file: The configuration's path.
    init(
        _ reports: StatusReports,
        _ sender: ActionSender,
        _ reload: ConfigurationReload,
        file: String,
        logger: Logger
    ) {
        (self.reports, self.sender, self.reload) = (reports, sender, reload)
        (self.file, self.logger) = (file, logger)
        actions = ConsoleActions(reports.supervisor)
    }

    /// Answers a request whose token and body are known.
    ///
    /// - Parameters:
    ///   - query: The parts of the query.
    ///   - isReadOnly: Whether the console only shows.
    func answer(_ endpoint: ConsoleEndpoint, _ query: [String], _ body: [UInt8], isReadOnly: Bool) async -> HTTPAnswer {
        do {
            let body = try await content(endpoint, query, body, isReadOnly: isReadOnly)
            return HTTPAnswer(status: 200, contentType: "application/json", body: body)
        } catch {
            var object = JSONObject()
            object.add("error", Redaction.redacted("\(error)"))
            // A browser reports each status of an error on its console, and a mistake in a form is no fault of the page.
            return HTTPAnswer(
                status: endpoint == .export ? 422 : 200,
                contentType: "application/json",
                body: object.line
            )
        }
    }

    private func content(
        _ endpoint: ConsoleEndpoint,
        _ query: [String],
        _ body: [UInt8],
        isReadOnly: Bool
    ) async throws -> [UInt8] {
        switch endpoint {
        case .live: await live(after: number("after", query), isReadOnly: isReadOnly)
        case .configuration: try await configuration()
        case .export: try await export()
        case .explain: try await explain(ConsoleRequest(body))
        case .send: try await send(ConsoleRequest(body))
        case .replay: try await replay(ConsoleRequest(body))
        case .page, .script, .style: []
        }
    }

    private func number(_ name: String, _ query: [String]) -> Int {
        max(0, query.first { $0.hasPrefix("\(name)=") }.flatMap { Int($0.dropFirst(name.count + 1)) } ?? 0)
    }

    // MARK: - Live

    private func live(after number: Int, isReadOnly: Bool) async -> [UInt8] {
        let shown = actions.take(after: number)
        let (status, view) = reports.statusAndView(history: true)
        var object = JSONObject()
        object.add("isReadOnly", isReadOnly)
        object.add("status", json: status.line.dropLast())
        object.add("links", objects: links(view)) { link, entry in
            entry.add("source", link.source)
            entry.add("plugin", link.plugin)
            entry.add("rate", link.rate, digits: 1)
            entry.add("worst", link.worst)
        }
        object.add("charts") { charts in
            charts.add("settled", numbers: view.total(\.settled))
            charts.add("errors", numbers: view.total { $0.rejected + $0.failed })
            charts.add("p99Seconds", seconds: view.p99OfEachSecond)
        }
        let letters = await FileContent.waiting(on: queue) { self.letters() }
        object.add("letters", objects: letters.entries) { $1.add(letter: $0) }
        object.add("canReplay", letters.areStored && !isReadOnly)
        object.add("actions", json: Array("[".utf8) + shown.lines.joined(separator: Array(",".utf8)) + Array("]".utf8))
        object.add("next", shown.next)
        object.add("skipped", shown.skipped)
        return object.line
    }

    private struct Link {
        let source: String
        let plugin: String
        let rate: Double
        /// The worst outcome of the last seconds, or `nil` if there was none.
        let worst: String?
    }

    /// The arrows from sources to plugins: those that the configuration permits, and those on which anything has come.
    private func links(_ view: ActivityView) -> [Link] {
        let graph = ConfigurationGraph(reload.configuration)
        var pairs = Set(graph.calls.map { [graph.sources[$0.source].name, graph.plugins[$0.plugin].action] })
        for case .link(source: let source, plugin: let plugin) in view.current.keys { pairs.insert([source, plugin]) }
        return pairs.sorted { $0.lexicographicallyPrecedes($1) }.map { pair in
            let owner = ActivityHistory.Owner.link(source: pair[0], plugin: pair[1])
            return Link(source: pair[0], plugin: pair[1], rate: view.rate(of: owner), worst: view.worst(of: owner))
        }
    }

    // MARK: - Dead letters

    /// Returns the last dead letters, newest first. This reads the store, and so may block.
    private func letters() -> (entries: [ConsoleLetter], areStored: Bool) {
        guard let store = reload.configuration.store, let administration = try? StoreAdministration(path: store.path)
        else {
            let letters = reports.supervisor.deadLetters.last(ConsoleService.letterLimit).reversed()
            return (letters.map { ConsoleLetter($0) }, false)
        }
        var filter = DeadLetterFilter()
        filter.limit = ConsoleService.letterLimit
        var entries: [ConsoleLetter] = []
        try? administration.forEachLetter(filter) { entries.append(ConsoleLetter($0)) }
        return (entries.reversed(), true)
    }

    private func export() async throws -> [UInt8] {
        guard let store = reload.configuration.store else {
            throw CommandFailure(
                .unavailable,
                "there is no store, so dead letters cannot be exported; add 'store' to the configuration"
            )
        }
        let read = await FileContent.waiting(on: queue) {
            Result {
                var lines: [UInt8] = []
                try StoreAdministration(path: store.path).forEachLetter(DeadLetterFilter()) { entry in
                    lines += LetterLine(entry: entry).exportLine
                    guard lines.count <= ConsoleService.exportLimit else { throw ConsoleService.tooLarge(store.path) }
                }
                return lines
            }
        }
        return try read.get()
    }

    private static func tooLarge(_ store: String) -> CommandFailure {
        let size = "\(exportLimit >> 20) MiB"
        return CommandFailure(
            .outputFailed,
            "the dead letters have more than \(size); use 'signalbox dead export --store \(store)' instead"
        )
    }

    private func replay(_ request: ConsoleRequest) async throws -> [UInt8] {
        guard let store = reload.configuration.store, let number = request.number else {
            throw CommandFailure(.usage, "name the number of a dead letter in the store")
        }
        let requested = await FileContent.waiting(on: queue) {
            Result {
                var filter = DeadLetterFilter()
                filter.numbers = [number]
                return try StoreAdministration(path: store.path).requestReplay(filter, as: nil, perSecond: nil)
            }
        }
        let numbers = try requested.get()
        guard !numbers.isEmpty else { throw CommandFailure(.notAsExpected, "there is no dead letter \(number)") }
        logger.notice("the console replays dead letter \(number)")
        var object = JSONObject()
        object.add("requested", numbers.count)
        return object.line
    }

    // MARK: - Forms

    private func send(_ request: ConsoleRequest) async throws -> [UInt8] {
        let id = request.id.flatMap(ActionID.init)
        guard request.id == nil || id != nil else {
            throw CommandFailure(.usage, "an id has 1 to \(ActionID.maximumLength) bytes")
        }
        let action = try ActionName(request.action ?? "")
        let body = Bytes(request.body.flatMap { $0.isEmpty ? nil : $0 } ?? "null")
        let outcome = Promise<Result<[UInt8], any Error>>()
        // The action is not taken back when the time is over.
        Task { [sender] in
            do { outcome.set(.success(try await sender.send(action, id, body))) } catch { outcome.set(.failure(error)) }
        }
        let expiry = Task {
            try await Task.sleep(for: ConsoleService.sendLimit)
            let text = "the action has no outcome after \(ConsoleService.sendLimit); it goes on"
            outcome.set(.failure(CommandFailure(.timeout, text)))
        }
        defer { expiry.cancel() }
        return try await outcome.value().get()
    }

    private func explain(_ request: ConsoleRequest) async throws -> [UInt8] {
        let explainer = ConfigurationExplainer(configuration: reload.configuration, file: file)
        let name = request.source.flatMap { $0.isEmpty ? nil : $0 }
        if let url = request.url, !url.isEmpty { return try await explainer.line(about: url, of: name).jsonLine }
        var facts = MessageFacts()
        facts.areKeys = true
        if let topic = request.topic, !topic.isEmpty { facts.topic = try TopicName(topic) }
        if let path = request.path, !path.isEmpty { facts.path = path }
        if let principal = request.principal, !principal.isEmpty { facts.principal = principal }
        let section = try explainer.source(name, for: facts)
        return try explainer.line(about: Array((request.body ?? "").utf8), facts, of: section).jsonLine
    }

    private func configuration() async throws -> [UInt8] {
        let file = file
        let (text, found) = try await FileContent.waiting(on: queue) {
            Result {
                let text = try ConfigurationFile.content(of: file)
                return (text, ConfigurationReader.lint(text, file: file, readsSecrets: false, readsTests: false))
            }
        }.get()
        var object = JSONObject()
        object.add("file", file)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let secret = Set(found.findings.filter { $0.code == .secretInFile }.map(\.line))
        object.add(
            "lines",
            texts: lines.enumerated().map { index, line in
                secret.contains(index + 1) ? "(a secret)" : Redaction.redacted(String(line))
            }
        )
        object.add("findings", objects: found.findings) { finding, entry in
            entry.add("line", finding.line)
            entry.add("column", finding.column)
            entry.add("severity", finding.severity.rawValue)
            entry.add("code", finding.code.rawValue)
            entry.add("key", finding.path)
            entry.add("problem", finding.message)
        }
        return object.line
    }
}

/// The members of all requests of the console.
struct ConsoleRequest: Decodable {
    var action: String?
    var id: String?
    /// The body as text, which need not be JSON.
    var body: String?
    var source: String?
    var url: String?
    var topic: String?
    var path: String?
    var principal: String?
    var number: Int64?

    init(_ body: [UInt8]) throws {
        do throws(BodyError) {
            self = try Body(json: Bytes(body), limits: MessageLimits(bytes: 1 << 20)).decode(ConsoleRequest.self)
        } catch {
            throw CommandFailure(.usage, "the request cannot be read: \(error)")
        }
    }
}

/// A dead letter as the console lists it.
struct ConsoleLetter {
    /// Its number in the store, or `nil` if it is in memory.
    let number: Int64?
    let time: WallTime
    let source: String
    let action: String?
    let reason: String
    let detail: String
    let attempts: Int
    let isToBeReplayed: Bool
    /// Which stages the message passed, and which stopped it.
    let steps: [(stage: String, passes: Bool, detail: String)]

    init(_ entry: DeadLetterEntry) {
        let letter = entry.letter
        number = entry.number
        time = entry.lastAt
        source = letter.message.source.text
        action = letter.message.action?.text
        (reason, detail, attempts) = (letter.reason, Redaction.redacted(letter.detail), letter.attempts)
        isToBeReplayed = entry.isToBeReplayed
        steps = LetterLine(entry: entry).steps.map { ($0.stage, $0.passes, $0.detail) }
    }

    init(_ letter: DeadLetter) {
        number = nil
        time = letter.receivedAt
        source = letter.source.text
        action = letter.action?.text
        (reason, attempts) = (letter.outcome.code, letter.attempts)
        detail = Redaction.redacted(letter.outcome.detail)
        isToBeReplayed = false
        steps = letter.explanation.steps.map { ("\($0.stage)", $0.passes, $0.detail) }
    }
}

extension JSONObject {
    fileprivate mutating func add(letter: ConsoleLetter) {
        if let number = letter.number { add("number", Int(number)) }
        add("at", WallTimeText.utc(letter.time))
        add("source", letter.source)
        add("action", letter.action)
        add("reason", letter.reason)
        add("detail", letter.detail)
        add("attempts", letter.attempts)
        if letter.isToBeReplayed { add("isToBeReplayed", true) }
        add("steps", objects: letter.steps) { step, entry in
            entry.add("stage", step.stage)
            entry.add("passes", step.passes)
            entry.add("detail", step.detail)
        }
    }

    fileprivate mutating func add(_ name: String, numbers: [Int]) {
        add(name, json: "[\(numbers.map(String.init).joined(separator: ","))]".utf8)
    }

    fileprivate mutating func add(_ name: String, seconds: [Double?]) {
        add(name, json: "[\(seconds.map { $0.map { "\($0)" } ?? "null" }.joined(separator: ","))]".utf8)
    }
}
