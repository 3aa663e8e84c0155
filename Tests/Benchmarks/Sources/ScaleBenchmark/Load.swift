import Dispatch
import Foundation
import Logging
import Signalbox
import SignalboxCore
import Synchronization

/// How the sources and lanes of a row are connected.
enum Shape: String, CaseIterable, Sendable {
    case pairs = "each source to its own plugin"
    case keyed = "all sources to one plugin, 1,000 keys"
    case spread = "one source to all plugins"

    /// The number of sources at a width.
    func sources(_ width: Int) -> Int { self == .spread ? 1 : width }

    /// The number of plugins at a width.
    func plugins(_ width: Int) -> Int { self == .keyed ? 1 : width }
}

/// A running supervisor with a number of sources, each with a thread that submits messages, and a number of lanes.
final class Load: Sendable {
    private let supervisor: Supervisor
    private let producers: [Producer]
    private let running: Task<Void, any Error>

    /// - Parameter width: The number of sources and plugins, or of calls at once where there is one plugin.
    init(_ shape: Shape, width: Int) async throws {
        let logger = Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() }
        let supervisor = Supervisor(logger: logger)
        self.supervisor = supervisor
        let sources = try (0..<shape.sources(width)).map { try SourceName("source\($0)") }
        let actions = (0..<shape.plugins(width)).map { "payme\($0 / 10)\($0 % 10)" }
        var options = PluginOptions<Payment>()
        if shape == .keyed {
            options.order = .key(\.paymentId)
            options.maxConcurrent = width
        }
        let rule = AccessRule("any source of the benchmark") { _ in true }
        for action in actions {
            let tally = Tally()
            try supervisor.register(
                Registration(try ActionName(action), as: Payment.self, from: rule, options: options) { info, _ in
                    tally.add(info.amount &+ info.transactionId.utf8.count &+ info.paymentGoodsName.utf8.count)
                }
            )
        }
        producers = try sources.enumerated().map { number, source in
            let own = shape == .pairs ? [actions[number]] : actions
            return Producer(try supervisor.intake(for: source), Origin(source: source, facts: BenchmarkFacts()), own)
        }
        running = Task { try await supervisor.run() }
    }

    /// Dispatches `count` messages from each source, each source on its own thread. Returns when all are settled.
    func dispatch(_ count: Int, batch: Int) async {
        await withCheckedContinuation { continuation in
            let group = DispatchGroup()
            for producer in producers {
                group.enter()
                Thread.detachNewThread {
                    producer.send(count, batch: batch)
                    group.leave()
                }
            }
            group.notify(queue: .global()) { continuation.resume() }
        }
    }

    func stop() async {
        running.cancel()
        _ = try? await running.value
    }
}

struct BenchmarkFacts: OriginFacts {
    static let kind = "benchmark"
}

/// Submits the messages of one source, as an adapter's thread does.
final class Producer: Sendable {
    private let intake: any Intake
    private let origin: Origin
    private let actions: [String]
    private let pool = ArrivalPool(maximumKept: 16)

    init(_ intake: any Intake, _ origin: Origin, _ actions: [String]) {
        self.intake = intake
        self.origin = origin
        self.actions = actions
    }

    func send(_ count: Int, batch size: Int) {
        let sink = TallySink(expected: count, lanes: actions.count)
        var messages = actions.map { PaymentMessage(action: $0) }
        var batch = ArrivalBatch(pool: pool)
        var made = 0
        while made < count {
            let end = min(count, made + size)
            for number in made..<end {
                messages[number % actions.count].withBytes(key: number % 1_000) { bytes in
                    batch.append(bytes, token: UInt64(number), origin: origin, receivedAt: WallTime(seconds: 1))
                }
            }
            submit(batch.take(), to: sink)
            made = end
        }
        sink.waitUntilSettled()
    }

    private func submit(_ arrivals: [Arrival], to sink: TallySink) {
        var taken = intake.submit(arrivals, to: sink)
        while taken < arrivals.count {
            waitForRoom()
            taken += intake.submit(Array(arrivals[taken...]), to: sink)
        }
    }

    private func waitForRoom() {
        let hasRoom = DispatchSemaphore(value: 0)
        Task {
            try? await intake.room()
            hasRoom.signal()
        }
        hasRoom.wait()
    }
}

/// A number that one thread at a time changes, in memory that shares no cache line with anything else.
final class Tally: Sendable {
    private let before = Padding()
    private let value: Atomic<Int>
    private let after = Padding()

    init(_ value: Int = 0) { self.value = Atomic(value) }

    func add(_ more: Int) { value.wrappingAdd(more, ordering: .relaxed) }

    /// Subtracts one, and returns what is left.
    func subtractOne() -> Int { value.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue }

    private struct Padding {
        let words = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    }
}

/// Counts settlements for each lane separately, so that the lanes share nothing because of the benchmark.
final class TallySink: SettlementSink {
    private let left: [Tally]
    private let settled = DispatchGroup()

    init(expected count: Int, lanes: Int) {
        left = (0..<lanes).map { lane in Tally((count - lane + lanes - 1) / lanes) }
        for _ in left { settled.enter() }
    }

    func mayAcknowledge(_ token: UInt64) {}

    func settle(_ token: UInt64, _ outcome: Outcome) {
        guard case .handled = outcome else { preconditionFailure("not handled: \(outcome)") }
        if left[Int(token) % left.count].subtractOne() == 0 { settled.leave() }
    }

    func waitUntilSettled() { settled.wait() }
}

struct Payment: Decodable, Sendable {
    let amount: Int
    let transactionId: String
    let paymentId: String
    let paymentGoodsName: String
}

/// The payment message of 202 bytes, with a key of six digits.
struct PaymentMessage {
    private var bytes: [UInt8]
    private let key: Int

    /// - Parameter action: A name of seven letters.
    init(action: String) {
        let start =
            #"{"action":"\#(action)","id":"6f9619ff-8b86-d011-b42d-00c04fc964ff","body":{"amount":129900,"#
            + #""transactionId":"tx-20240117-00000042","paymentId":"pay_"#
        bytes = Array((start + #"000000","paymentGoodsName":"Noise cancelling headphones"}}"#).utf8)
        key = start.utf8.count
        precondition(bytes.count == 202, "the message has \(bytes.count) bytes")
    }

    mutating func withBytes(key number: Int, _ body: (UnsafeRawBufferPointer) -> Void) {
        var rest = number
        for position in (key..<key + 6).reversed() {
            bytes[position] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
        }
        bytes.withUnsafeBytes(body)
    }
}
