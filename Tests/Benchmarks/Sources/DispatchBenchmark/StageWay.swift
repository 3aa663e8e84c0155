import Logging
import Signalbox
import SignalboxCore
import Synchronization

/// A running supervisor set up for one row, fed by one task through its sources' intakes.
final class StageWay: Sendable {
    let row: StageRow
    private let supervisor: Supervisor
    private let intakes: [(intake: any Intake, origin: Origin)]
    private let running: Task<Void, any Error>
    private let total = Atomic<Int>(0)
    private let sent = Atomic<Int>(0)
    private let pool = ArrivalPool(maximumKept: 16)

    init(_ row: StageRow) throws {
        self.row = row
        let setting = row.setting
        let logger = Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() }
        let supervisor = Supervisor(configuration: setting.configuration, logger: logger)
        self.supervisor = supervisor
        intakes = try setting.sources.map { source in
            let intake = try supervisor.intake(
                for: source,
                features: setting.features,
                rateLimit: setting.rateLimit,
                deduplication: setting.deduplication
            )
            return (intake, Origin(source: source, facts: BenchmarkFacts()))
        }
        for middleware in setting.middleware { supervisor.use(middleware) }
        if let metrics = setting.metrics { supervisor.observe(metrics) }
        running = Task { try await supervisor.run() }
        try supervisor.apply(try registrations(setting).map { .add($0) })
    }

    private func registrations(_ setting: StageSetting) throws -> [Registration] {
        let rule = AccessRule.any(setting.sources.map { AccessRule.source($0) })
        let called = try setting.called.map { try ActionName($0) }
        let others = try (0..<max(0, setting.registered - called.count)).map { number in
            Registration(try ActionName("other\(number)"), as: Payment.self, from: rule) { _, _ in }
        }
        return (setting.isHandled ? called.map { registration($0, rule, setting) } : []) + others
    }

    private func registration(_ action: ActionName, _ rule: AccessRule, _ setting: StageSetting) -> Registration {
        if setting.isAsync {
            return Registration(action, as: Payment.self, from: rule, options: setting.options) { info, _ in
                await self.addLater(info)
            }
        }
        return Registration(action, as: Payment.self, from: rule, options: setting.options) { info, _ in
            self.add(info)
        }
    }

    private func add(_ info: Payment) {
        let count = info.transactionId.utf8.count &+ info.paymentId.utf8.count &+ info.paymentGoodsName.utf8.count
        total.wrappingAdd(info.amount &+ count, ordering: .relaxed)
    }

    private func addLater(_ info: Payment) async { add(info) }

    /// Dispatches `count` messages in batches, alternating between the sources. Returns when all are settled.
    func dispatch(_ count: Int, batch size: Int = 256) async throws {
        let sink = CountingSink(expected: count)
        var message = StageMessage(keys: row.setting.keys, actions: row.setting.called)
        var batch = ArrivalBatch(pool: pool)
        let first = sent.wrappingAdd(count, ordering: .relaxed).oldValue
        var made = 0
        while made < count {
            let (intake, origin) = intakes[made / size % intakes.count]
            fill(&batch, &message, (first + made)..<(first + min(made + size, count)), origin)
            made += try await submit(batch.take(), to: intake, sink)
        }
        await sink.untilSettled()
        let notHandled = sink.notHandled.load(ordering: .relaxed)
        precondition(notHandled == (row.setting.isHandled ? 0 : count), "\(row.name): \(notHandled) were not handled")
        row.setting.forget()
    }

    private func submit(_ arrivals: [Arrival], to intake: any Intake, _ sink: CountingSink) async throws -> Int {
        var taken = intake.submit(arrivals, to: sink)
        while taken < arrivals.count {
            try await intake.room()
            taken += intake.submit(Array(arrivals[taken...]), to: sink)
        }
        return taken
    }

    private func fill(
        _ batch: inout ArrivalBatch,
        _ message: inout StageMessage,
        _ numbers: Range<Int>,
        _ origin: Origin
    ) {
        let time = WallTime(seconds: 1_700_000_000)
        let deadline = row.setting.hasDeadline ? ContinuousClock.now + .seconds(60) : nil
        for number in numbers {
            message.number(number / row.setting.messagesPerID)
            message.withBytes { bytes in
                batch.append(bytes, token: UInt64(number), origin: origin, receivedAt: time, deadline: deadline)
            }
        }
    }

    func stop() async {
        running.cancel()
        _ = try? await running.value
    }
}

/// The payment message with a different id each time, so that no message is a duplicate, and with one of `keys` values
/// as the `paymentId`. Always as long as ``Payment/message``.
struct StageMessage {
    private static let idDigits = 12
    private static let keyDigits = 6

    private var bytes = Payment.message
    private let keys: Int
    private let actions: [[UInt8]]
    private let action: Int
    private let idEnd: Int
    private let keyEnd: Int

    /// - Parameter actions: The actions to alternate, each as long as `payment`.
    init(keys: Int, actions: [String]) {
        self.keys = keys
        self.actions = actions.map { Array($0.utf8) }
        action = StageMessage.end(of: #""action":""#)
        idEnd = StageMessage.end(of: "b42d-00c04fc964ff")
        keyEnd = StageMessage.end(of: "pay_5f3c9a")
    }

    mutating func number(_ number: Int) {
        write(number, digits: StageMessage.idDigits, before: idEnd)
        write(number % keys, digits: StageMessage.keyDigits, before: keyEnd)
        guard actions.count > 1 else { return }
        let name = actions[number % actions.count]
        bytes.replaceSubrange(action..<action + name.count, with: name)
    }

    func withBytes(_ body: (UnsafeRawBufferPointer) -> Void) {
        bytes.withUnsafeBytes(body)
    }

    private mutating func write(_ number: Int, digits: Int, before end: Int) {
        var rest = number
        for position in (end - digits..<end).reversed() {
            bytes[position] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
        }
    }

    private static func end(of text: String) -> Int {
        let wanted = Array(text.utf8)
        for start in 0...(Payment.message.count - wanted.count)
        where Payment.message[start..<start + wanted.count].elementsEqual(wanted) {
            return start + wanted.count
        }
        preconditionFailure("the payment message has no \(text)")
    }
}

/// A middleware that only calls the next one.
struct PassMiddleware: Middleware {
    func handle(_ context: ActionContext, next: MiddlewareNext) async -> Outcome { await next(context) }
}
