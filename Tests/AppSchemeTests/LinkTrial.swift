import AppScheme
import Logging
import Signalbox
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import TestSupport

/// An adapter with its inbox, and the outcomes, notifications and log lines of its links.
struct LinkTrial: Sendable {
    /// The outcome of one link, as the supervisor reported it.
    struct Settled: Sendable {
        let token: UInt64
        let origin: Origin
        let original: String
        /// The action, or `nil` if the link does not make one.
        let action: Action?
        let outcome: Outcome
        let unreadableItems: Int

        var facts: LinkFacts? { origin.facts as? LinkFacts }
        var body: String? { action?.body.jsonText }

        var rejection: Outcome.Rejection? {
            guard case .rejected(let rejection) = outcome else { return nil }
            return rejection
        }
    }

    /// A notification of the application.
    struct OutcomeNotification: Sendable {
        let link: String
        let outcome: Outcome
    }

    let inbox: LinkInbox
    let adapter: AppSchemeAdapter<LinkInbox>
    let settled = EventList<Settled>()
    let reported = EventList<OutcomeNotification>()
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
            onOutcome: { [reported] link, outcome in
                reported.append(contentsOf: [OutcomeNotification(link: link, outcome: outcome)])
            }
        )
    }

    /// Returns a supervisor that reports each outcome to the trial and logs to it.
    func makeSupervisor() -> Supervisor {
        var configuration = SupervisorConfiguration.patient
        configuration.onOutcome = { [settled] one in
            let arrival = one.arrival
            let link = Settled(
                token: arrival.token,
                origin: arrival.origin,
                original: String(decoding: arrival.original, as: UTF8.self),
                action: try? arrival.reading.get(),
                outcome: one.outcome,
                unreadableItems: arrival.unreadableItems
            )
            settled.append(contentsOf: [link])
        }
        return Supervisor(configuration: configuration, logger: Logger(label: "box") { [log] _ in RecordingLog(log) })
    }

    /// Delivers links in a separate run.
    ///
    /// - Returns: The outcome of each link, in the order of the links.
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

    /// Delivers one link and returns its outcome.
    func deliver(_ link: String) async throws -> Settled {
        try Missing.unwrap(try await deliver([link]).first)
    }
}

/// An error for a missing value that a test requires.
struct Missing: Error {
    static func unwrap<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw Missing() }
        return value
    }
}

extension AppRoutes {
    /// Creates routes from texts. Each has a pattern, and an action if it is fixed.
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

    /// Creates one route.
    init(_ pattern: String, _ action: ActionName?, once: Bool = false) throws {
        try self.init([(pattern, action)], once: once)
    }

    /// Returns the action of a link.
    func action(_ link: String) throws -> LinkAction {
        try match(link).reading.get()
    }

    /// Returns the rejection of a link, or `nil` if it has an action.
    func rejection(_ link: String) -> Outcome.Rejection? {
        guard case .failure(let rejection) = match(link).reading else { return nil }
        return rejection
    }
}

extension LinkAction {
    /// The members of the body, in order.
    var members: [String] { captures.map { "\($0.name)=\(([$0.value] + $0.moreValues).joined(separator: ","))" } }
}

/// An intake with which a test can wait until an adapter has submitted links, calls `room()`, or finds the intake
/// closed.
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

/// The values that a plugin was called with, in order.
struct CallList<Value: Sendable>: Sendable {
    private let list = EventList<Value>()

    var all: [Value] { list.all }

    func add(_ value: Value) {
        list.append(contentsOf: [value])
    }
}
