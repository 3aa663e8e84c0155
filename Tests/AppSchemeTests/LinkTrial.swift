import AppScheme
import Logging
import Signalbox
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting

/// An adapter with its inbox, what a real supervisor makes of its links, and all that is said about them.
struct LinkTrial: Sendable {
    /// What became of one link, as the supervisor told it.
    struct Settled: Sendable {
        let token: UInt64
        let origin: Origin
        let original: String
        /// `nil` when the link is no action.
        let action: Action?
        let outcome: Outcome

        var facts: LinkFacts? { origin.facts as? LinkFacts }
        var body: String? { action?.body.jsonText }

        var rejection: Outcome.Rejection? {
            guard case .rejected(let rejection) = outcome else { return nil }
            return rejection
        }
    }

    /// What the application was told.
    struct Told: Sendable {
        let link: String
        let outcome: Outcome
    }

    let inbox: LinkInbox
    let adapter: AppSchemeAdapter<LinkInbox>
    let settled = EventList<Settled>()
    let told = EventList<Told>()
    let log = EventList<String>()

    init(
        _ routes: AppRoutes,
        source: SourceName = "links",
        inbox: LinkInbox = LinkInbox(links: 10_000, bytes: 1 << 24),
        limits: MessageLimits = MessageLimits()
    ) {
        self.inbox = inbox
        adapter = AppSchemeAdapter(
            source: source,
            routes: routes,
            links: inbox,
            limits: limits,
            logger: Logger(label: "links") { [log] _ in RecordingLog(log) },
            onOutcome: { [told] link, outcome in told.append(contentsOf: [Told(link: link, outcome: outcome)]) }
        )
    }

    /// A supervisor that tells the trial of each outcome and logs into it.
    func makeSupervisor() -> Supervisor {
        var configuration = SupervisorConfiguration.patient
        configuration.onOutcome = { [settled] one in
            let arrival = one.arrival
            let link = Settled(
                token: arrival.token,
                origin: arrival.origin,
                original: String(decoding: arrival.original, as: UTF8.self),
                action: try? arrival.reading.get(),
                outcome: one.outcome
            )
            settled.append(contentsOf: [link])
        }
        return Supervisor(configuration: configuration, logger: Logger(label: "box") { [log] _ in RecordingLog(log) })
    }

    /// Delivers links in a run of their own.
    ///
    /// - Returns: what became of each, in the order of the links.
    func deliver(
        _ links: [String],
        _ register: (Supervisor) throws -> Void = { _ in }
    ) async throws -> [Settled] {
        let supervisor = makeSupervisor()
        try register(supervisor)
        try supervisor.add(adapter)
        let before = settled.all.count
        for link in links { inbox.open(link) }
        return try await supervisor.whileRunning {
            await settled.wait { $0.count >= before + links.count }.dropFirst(before).sorted { $0.token < $1.token }
        }
    }

    /// Delivers one link.
    func deliver(_ link: String) async throws -> Settled {
        try Missing.unwrap(try await deliver([link]).first)
    }
}

/// Something that a test needs is not there.
struct Missing: Error {
    static func unwrap<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw Missing() }
        return value
    }
}

extension AppRoutes {
    /// Routes from texts: a pattern and its action, if it is fixed.
    init(
        _ routes: [(pattern: String, action: ActionName?)],
        once: Bool = false,
        fallback: ActionName? = nil
    ) throws {
        try self.init(
            routes.map { AppRoute(try URLPattern($0.pattern), action: $0.action, once: once) },
            fallback: fallback
        )
    }

    /// One route.
    init(_ pattern: String, _ action: ActionName?, once: Bool = false) throws {
        try self.init([(pattern, action)], once: once)
    }

    /// The action of a link.
    func action(_ link: String) throws -> LinkAction {
        try match(link).reading.get()
    }

    /// Why a link is none.
    func rejection(_ link: String) -> Outcome.Rejection? {
        guard case .failure(let rejection) = match(link).reading else { return nil }
        return rejection
    }
}

extension LinkAction {
    /// The members of the body, in order.
    var members: [String] { captures.map { "\($0.name)=\($0.value)" } }
}

/// A supervisor's intake that lets a test wait until an adapter has handed links over, asks for room, and is told that
/// there is none.
struct ForwardingIntake: Intake {
    let intake: any Intake
    let taken = EventList<Void>()
    let roomCalls = EventList<Void>()
    let closings = EventList<Void>()

    func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
        let count = intake.submit(batch, to: sink)
        taken.append(contentsOf: (0..<count).map { _ in () })
        return count
    }

    func room() async throws(SourceClosed) {
        roomCalls.append(contentsOf: [()])
        do throws(SourceClosed) {
            try await intake.room()
        } catch {
            closings.append(contentsOf: [()])
            throw error
        }
    }
}

/// What a plugin was called with, in order.
struct CallList<Value: Sendable>: Sendable {
    private let list = EventList<Value>()

    var all: [Value] { list.all }

    func add(_ value: Value) {
        list.append(contentsOf: [value])
    }
}
