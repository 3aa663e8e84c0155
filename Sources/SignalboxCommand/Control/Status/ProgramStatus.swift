import SignalboxCore

/// How a running program does, at one moment. Rates are averages over the last ten seconds, and durations those of the last
/// minute.
struct ProgramStatus: Sendable, Equatable, Decodable {
    struct Program: Sendable, Equatable, Decodable {
        let version: String
        let pid: Int
        /// The path of the configuration.
        let configuration: String
        /// `starting`, `running` or `draining`.
        let state: String
        let startedAt: String
        let uptimeSeconds: Int
        let logLevel: String
        let processorSeconds: Double
        let residentBytes: Int?
        let openDescriptors: Int?
    }

    struct Problem: Sendable, Equatable, Decodable {
        let source: String?
        let plugin: String?
        let problem: String
    }

    /// A current problem that does not affect readiness.
    struct Warning: Sendable, Equatable, Decodable {
        let source: String?
        let plugin: String?
        /// The code of an outcome, or ``StatusWarnings/windowFull``.
        let code: String
        let warning: String
    }

    /// How many arrivals had each outcome since the start.
    struct Outcomes: Sendable, Equatable, Decodable {
        let handled: Int
        let rejected: Int
        let failed: Int
        let abandoned: Int
    }

    struct Source: Sendable, Equatable, Decodable {
        let source: String
        /// The key of its kind in the configuration, `internal`, or `removed`.
        let kind: String
        /// Whether it can receive messages, or `nil` if it has no connection.
        let isConnected: Bool?
        let outcomes: Outcomes
        let duplicates: Int
        let rate: Double
        /// The arrivals that are not settled, and their bytes, with their limits.
        let unsettled: Int
        let unsettledLimit: Int?
        let unsettledBytes: Int
        /// Settled arrivals in each of the last 60 seconds, oldest first; `nil` if it was not asked for.
        let history: [Int]?
    }

    struct Plugin: Sendable, Equatable, Decodable {
        /// The action, or `none` for arrivals without a plugin.
        let plugin: String
        /// Its function, or `nil` if it has been removed.
        let use: String?
        let outcomes: Outcomes
        let rate: Double
        let p50Seconds: Double?
        let p99Seconds: Double?
        let running: Int
        let waiting: Int
        let stalled: Int
        let isCircuitOpen: Bool
        let history: [Int]?
    }

    struct DeadLetters: Sendable, Equatable, Decodable {
        let total: Int
        /// Letters that did not fit in memory.
        let dropped: Int
        /// Letters in the store, or `nil` without a store.
        let stored: Int?
        /// The share of the store's limit that is in use.
        let fullness: Double?
        /// The last letters, newest first.
        let last: [Letter]
    }

    struct Letter: Sendable, Equatable, Decodable {
        let receivedAt: String
        let source: String
        let action: String?
        let id: String?
        let outcome: String
        let reason: String
        let detail: String
    }

    let program: Program
    let isReady: Bool
    let problems: [Problem]
    let warnings: [Warning]
    let sources: [Source]
    let plugins: [Plugin]
    let deadLetters: DeadLetters
}

// MARK: - JSON

extension ProgramStatus {
    /// The status as one line of JSON.
    var line: [UInt8] {
        var object = JSONObject()
        object.add("program") { program.add(to: &$0) }
        object.add("isReady", isReady)
        object.add("problems", objects: problems) { problem, entry in
            entry.add("source", problem.source)
            entry.add("plugin", problem.plugin)
            entry.add("problem", problem.problem)
        }
        object.add("warnings", objects: warnings) { warning, entry in
            entry.add("source", warning.source)
            entry.add("plugin", warning.plugin)
            entry.add("code", warning.code)
            entry.add("warning", warning.warning)
        }
        object.add("sources", objects: sources) { $0.add(to: &$1) }
        object.add("plugins", objects: plugins) { $0.add(to: &$1) }
        object.add("deadLetters") { deadLetters.add(to: &$0) }
        return object.line
    }
}

extension JSONObject {
    /// Adds a number with up to `digits` decimals. Adds nothing if it is `nil`.
    mutating func add(_ name: String, _ number: Double?, digits: Int) {
        guard let number, number.isFinite else { return }
        var scale = 1.0
        for _ in 0..<digits { scale *= 10 }
        let rounded = (number * scale).rounded() / scale
        add(name, json: (Int(exactly: rounded).map { "\($0)" } ?? "\(rounded)").utf8)
    }

    fileprivate mutating func add(_ name: String, number: Int?) {
        if let number { add(name, number) }
    }

    fileprivate mutating func add(_ outcomes: ProgramStatus.Outcomes) {
        add("outcomes") { object in
            object.add("handled", outcomes.handled)
            object.add("rejected", outcomes.rejected)
            object.add("failed", outcomes.failed)
            object.add("abandoned", outcomes.abandoned)
        }
    }

    fileprivate mutating func add(history: [Int]?) {
        guard let history else { return }
        add("history", json: "[\(history.map(String.init).joined(separator: ","))]".utf8)
    }
}

extension ProgramStatus.Program {
    fileprivate func add(to object: inout JSONObject) {
        object.add("version", version)
        object.add("pid", pid)
        object.add("configuration", configuration)
        object.add("state", state)
        object.add("startedAt", startedAt)
        object.add("uptimeSeconds", uptimeSeconds)
        object.add("logLevel", logLevel)
        object.add("processorSeconds", processorSeconds, digits: 3)
        object.add("residentBytes", number: residentBytes)
        object.add("openDescriptors", number: openDescriptors)
    }
}

extension ProgramStatus.Source {
    fileprivate func add(to object: inout JSONObject) {
        object.add("source", source)
        object.add("kind", kind)
        if let isConnected { object.add("isConnected", isConnected) }
        object.add(outcomes)
        object.add("duplicates", duplicates)
        object.add("rate", rate, digits: 1)
        object.add("unsettled", unsettled)
        object.add("unsettledLimit", number: unsettledLimit)
        object.add("unsettledBytes", unsettledBytes)
        object.add(history: history)
    }
}

extension ProgramStatus.Plugin {
    fileprivate func add(to object: inout JSONObject) {
        object.add("plugin", plugin)
        object.add("use", use)
        object.add(outcomes)
        object.add("rate", rate, digits: 1)
        object.add("p50Seconds", p50Seconds, digits: 6)
        object.add("p99Seconds", p99Seconds, digits: 6)
        object.add("running", running)
        object.add("waiting", waiting)
        object.add("stalled", stalled)
        object.add("isCircuitOpen", isCircuitOpen)
        object.add(history: history)
    }
}

extension ProgramStatus.DeadLetters {
    fileprivate func add(to object: inout JSONObject) {
        object.add("total", total)
        object.add("dropped", dropped)
        object.add("stored", number: stored)
        object.add("fullness", fullness, digits: 4)
        object.add("last", objects: last) { letter, entry in
            entry.add("receivedAt", letter.receivedAt)
            entry.add("source", letter.source)
            entry.add("action", letter.action)
            entry.add("id", letter.id)
            entry.add("outcome", letter.outcome)
            entry.add("reason", letter.reason)
            entry.add("detail", letter.detail)
        }
    }
}
