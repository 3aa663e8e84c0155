import Logging
import Signalbox
import SignalboxCore

/// A supervisor for one run of the adapter under test, with the suite's plugins and a clock moved by hand.
final class ConformanceStage: Sendable {
    static let drainLimit = Duration.seconds(1)

    let number: Int
    let supervisor: Supervisor
    let adapter: WatchedAdapter
    /// Where the adapter is run into, when the case does that itself.
    let intake: (any Intake)?
    let clock = ManualClock()
    /// The plugin that records waits here.
    let slow: Gate
    /// The plugin that hangs waits here.
    let hung: Gate
    private let record: Watched<ConformanceRecord>
    private let orders = Watched(Orders())

    private struct Orders: Sendable {
        var isStopping = false
        var isAtOnce = false
    }

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
            let told = ConformanceRecord.Told(
                run: number,
                id: id,
                word: settled.outcome.code,
                original: original
            )
            record.change { $0.tell(told) }
        }
        let logger = Logger(label: "conformance") { _ in SwiftLogNoOpLogHandler() }
        supervisor = Supervisor(configuration: configuration, logger: logger, clock: clock)
        let window = WindowLimits(arrivals: limits.window)
        if limits.isManual {
            intake = try supervisor.intake(
                for: adapter.source,
                features: adapter.features,
                window: window,
                repeats: limits.repeats
            )
        } else {
            intake = nil
            try supervisor.add(adapter, window: window, repeats: limits.repeats)
        }
        try register(timeout: limits.timeout)
    }

    /// Whether somebody asked for the end.
    var isStopping: Bool { orders.value.isStopping }

    /// Notes that a plugin was called.
    func note(_ action: ActionName, _ context: ActionContext, _ body: ConformanceBody?) {
        let call = ConformanceRecord.Call(run: number, action: action, id: context.id.text, body: body)
        record.change { $0.called(call) }
    }

    /// Begins the graceful stop, as often as one likes.
    func stop() {
        orders.change { $0.isStopping = true }
        supervisor.shutDown()
    }

    /// Abandons what is inside.
    func stopAtOnce() {
        orders.change { orders in
            orders.isStopping = true
            orders.isAtOnce = true
        }
    }

    /// Runs the supervisor until it is stopped; returns what it threw.
    func run() async -> (any Error)? {
        defer { record.change { $0.inRun(number) { $0.supervisorEnded() } } }
        return await withTaskGroup(of: Part.self) { group in
            group.addTask { [supervisor] in
                do {
                    try await supervisor.run()
                    return .ended(nil)
                } catch {
                    return .ended(error)
                }
            }
            group.addTask { [orders] in
                await orders.until { $0.isAtOnce }
                return .stopAtOnce
            }
            var failure: (any Error)?
            while let part = await group.next() {
                if case .ended(let error) = part { failure = error }
                group.cancelAll()
            }
            return failure
        }
    }

    private enum Part: Sendable {
        case ended((any Error)?)
        case stopAtOnce
    }
}

extension ConformanceStage {
    /// Answers with the body's number, after its gate.
    static let recording: ActionName = "conformance.record"
    /// The same on a lane of its own.
    static let recordingToo: ActionName = "conformance.other"
    static let failing: ActionName = "conformance.fail"
    static let hanging: ActionName = "conformance.hang"
    /// Allows another source.
    static let forbidden: ActionName = "conformance.forbidden"
    /// Has no plugin.
    static let unknown: ActionName = "conformance.unknown"

    /// Weak, as the supervisor keeps its plugins and the stage its supervisor.
    func register(timeout: Duration) throws {
        let source = AccessRule.source(adapter.source)
        let patient = Duration.seconds(3_600)
        for action in [ConformanceStage.recording, ConformanceStage.recordingToo] {
            try supervisor.register(
                action,
                as: ConformanceBody.self,
                from: source,
                options: PluginOptions(timeout: patient)
            ) {
                [weak self] body, context in
                self?.note(action, context, body)
                await self?.slow.pass()
                return body.number
            }
        }
        try supervisor.register(ConformanceStage.failing, as: RawBody.self, from: source) { [weak self] _, context in
            self?.note(ConformanceStage.failing, context, nil)
            throw ConformanceError("as it is meant to")
        }
        try supervisor.register(
            ConformanceStage.hanging,
            as: RawBody.self,
            from: source,
            options: PluginOptions(timeout: timeout)
        ) {
            [weak self] _, context in
            self?.note(ConformanceStage.hanging, context, nil)
            await self?.hung.pass()
        }
        let elsewhere = AccessRule.source("elsewhere")
        try supervisor.register(ConformanceStage.forbidden, as: RawBody.self, from: elsewhere) {
            [weak self] _, context in
            self?.note(ConformanceStage.forbidden, context, nil)
        }
    }
}

/// What a case wants of the supervisor of one run.
struct ConformanceLimits: Sendable {
    /// The arrivals in the source's window.
    var window = 1_000
    /// The timeout of the plugin that hangs.
    var timeout: Duration = .seconds(3_600)
    /// Whether the plugin that records waits at its gate.
    var isSlow = false
    /// Whether the plugin that hangs does so.
    var hangs = true
    /// Whether the case runs the adapter itself, and not the supervisor.
    var isManual = false
    /// Whether messages that come again are recognised. Not by default, whatever the adapter says: the supervisor would hide
    /// what the adapter delivers twice.
    var repeats = RepeatPolicy.never
}
