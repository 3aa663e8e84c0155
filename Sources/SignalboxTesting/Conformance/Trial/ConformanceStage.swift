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
