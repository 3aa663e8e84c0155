import Logging
import Signalbox
import SignalboxCore

/// Sets up a supervisor for one run of the adapter under test, with the suite's plugins and a manual clock.
final class ConformanceStage: Sendable {
    static let drainLimit = Duration.seconds(1)

    let number: Int
    let supervisor: Supervisor
    let adapter: WatchedAdapter
    /// The intake for a run that the case starts by itself, or `nil` if the supervisor runs the adapter.
    let intake: (any Intake)?
    let clock = ManualClock()
    /// Where the recording plugins wait.
    let slow: Gate
    /// Where the hanging plugin waits.
    let hung: Gate
    private let record: Watched<ConformanceRecord>
    private let stopping = Watched(false)
    private let immediateStop = Watched(false)

    init(_ adapter: WatchedAdapter, _ limits: ConformanceLimits, record: Watched<ConformanceRecord>) throws {
        number = adapter.number
        self.adapter = adapter
        self.record = record
        slow = Gate(isOpen: !limits.isSlow)
        hung = Gate(isOpen: !limits.hangs)
        var configuration = SupervisorConfiguration()
        configuration.drainLimit = ConformanceStage.drainLimit
        configuration.onOutcome = { [number] settled in
            let id = try? settled.arrival.reading.get().id.text
            let original = id == nil ? String(decoding: settled.arrival.original, as: UTF8.self) : nil
            let outcome = ConformanceRecord.ReportedOutcome(
                run: number,
                id: id,
                code: settled.outcome.code,
                original: original
            )
            record.change { $0.record(outcome) }
        }
        let logger = Logger(label: "conformance") { _ in SwiftLogNoOpLogHandler() }
        supervisor = Supervisor(configuration: configuration, logger: logger, clock: clock)
        let window = WindowLimits(arrivals: limits.window)
        if limits.isManual {
            intake = try supervisor.intake(
                for: adapter.source,
                features: adapter.features,
                window: window,
                deduplication: limits.deduplication
            )
        } else {
            intake = nil
            try supervisor.add(adapter, window: window, deduplication: limits.deduplication)
        }
        try register(timeout: limits.timeout)
    }

    /// Whether a stop has been requested.
    var isStopping: Bool { stopping.value }

    /// Records a call to a plugin.
    func recordCall(_ action: ActionName, _ context: ActionContext, _ body: ConformanceBody?) {
        let call = ConformanceRecord.Call(run: number, action: action, id: context.id.text, body: body)
        record.change { $0.called(call) }
    }

    /// Starts the graceful stop. Repeated calls have no effect.
    func stop() {
        stopping.change { $0 = true }
        supervisor.shutDown()
    }

    /// Stops without draining, so that all unsettled arrivals are abandoned.
    func stopImmediately() {
        stopping.change { $0 = true }
        immediateStop.change { $0 = true }
    }

    /// Runs the supervisor until it stops, and returns the error that it threw, if any.
    func run() async -> (any Error)? {
        defer { record.change { $0.inRun(number) { $0.supervisorEnded() } } }
        return await withTaskGroup(of: (any Error)?.self) { group in
            group.addTask { [supervisor] in
                do {
                    try await supervisor.run()
                    return nil
                } catch {
                    return error
                }
            }
            group.addTask { [immediateStop] in
                await immediateStop.until { $0 }
                return nil
            }
            var failure: (any Error)?
            for await error in group {
                failure = failure ?? error
                group.cancelAll()
            }
            return failure
        }
    }
}

extension ConformanceStage {
    /// The action of a plugin that waits at its gate, and then replies with the number from the body.
    static let recording: ActionName = "conformance.record"
    /// The action of a second plugin of the same kind, with a separate lane.
    static let recordingToo: ActionName = "conformance.other"
    /// The action of a plugin that runs on the thread that submits, and replies with the number from the body.
    static let inline: ActionName = "conformance.inline"
    static let failing: ActionName = "conformance.fail"
    static let hanging: ActionName = "conformance.hang"
    /// The action of a plugin that allows only another source.
    static let forbidden: ActionName = "conformance.forbidden"
    /// An action that has no plugin.
    static let unknown: ActionName = "conformance.unknown"

    /// Registers the plugins, which hold the stage weakly, because the stage retains the supervisor, which in turn
    /// retains the plugins.
    func register(timeout: Duration) throws {
        let source = AccessRule.source(adapter.source)
        let patient = Duration.seconds(3_600)
        for action in [ConformanceStage.recording, ConformanceStage.recordingToo] {
            try supervisor.register(
                Registration(action, as: ConformanceBody.self, from: source, options: PluginOptions(timeout: patient)) {
                    [weak self] body, context in
                    self?.recordCall(action, context, body)
                    await self?.slow.pass()
                    return body.number
                }
            )
        }
        let inline = PluginOptions<ConformanceBody>(timeout: patient, runsInline: true)
        try supervisor.register(
            Registration(ConformanceStage.inline, as: ConformanceBody.self, from: source, options: inline) {
                [weak self] body, context in
                self?.recordCall(ConformanceStage.inline, context, body)
                return body.number
            }
        )
        try supervisor.register(
            Registration(ConformanceStage.failing, as: RawBody.self, from: source) { [weak self] _, context in
                self?.recordCall(ConformanceStage.failing, context, nil)
                throw ConformanceError("intended failure")
            }
        )
        try supervisor.register(
            Registration(
                ConformanceStage.hanging,
                as: RawBody.self,
                from: source,
                options: PluginOptions(timeout: timeout)
            ) {
                [weak self] _, context in
                self?.recordCall(ConformanceStage.hanging, context, nil)
                await self?.hung.pass()
            }
        )
        let elsewhere = AccessRule.source("elsewhere")
        try supervisor.register(
            Registration(ConformanceStage.forbidden, as: RawBody.self, from: elsewhere) {
                [weak self] _, context in
                self?.recordCall(ConformanceStage.forbidden, context, nil)
            }
        )
    }
}

/// The supervisor's limits for one run of a case.
struct ConformanceLimits: Sendable {
    /// The maximum number of arrivals in the source's window.
    var window = 1_000
    /// The timeout of the hanging plugin.
    var timeout: Duration = .seconds(3_600)
    /// Whether the recording plugins wait at their gate.
    var isSlow = false
    /// Whether the hanging plugin waits at its gate.
    var hangs = true
    /// Whether the case itself runs the adapter, instead of the supervisor.
    var isManual = false
    /// The deduplication policy. By default, messages are never deduplicated, regardless of the adapter's features,
    /// because deduplication would hide messages that the adapter delivers twice.
    var deduplication = DeduplicationPolicy.never
}
