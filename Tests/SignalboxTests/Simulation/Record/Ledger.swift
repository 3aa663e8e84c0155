import Signalbox
import SignalboxCore

/// The events of a run, by arrival, call and registration: what the invariants look at.
///
/// Positions are indexes of the log, so that they tell what was before what.
struct Ledger: Sendable {
    let scenario: Scenario
    let events: [SimulationEvent]
    var registrations: [Registration]
    /// What was taken, in the order in which it was submitted; `places` finds one of them.
    var passages: [Passage] = []
    var places: [ArrivalMark: Int] = [:]
    /// In the order in which they began.
    var calls: [CallRecord] = []
    /// The calls that deliver something and await it.
    var deliverers: [ArrivalMark: Int] = [:]
    /// How much each `submit` took, where it was offered anything.
    var takings: [Taking] = []
    /// What does not fit together in the log itself, such as an outcome for something that nobody took.
    var faults: [Fault] = []
    var began: Int?
    /// When the shutdown or the cancellation was asked for.
    var stopped: Int?
    var ended: Ending?
    var quiet: Ending?
    /// Every report, in order: those told while it ran, the one of the end, and the one of the quiet behind it.
    var reports: [Ending] = []
    /// The messages of the dead letters that were kept in the end.
    var letters: [Int] = []
    var removals: [Removal] = []
    /// When each intake was there first.
    var intakes: [IntakeMark: Int] = [:]
    /// The tick at each position.
    var ticks: [Int] = []
    var offers: [Int: Offer] = [:]

    struct Registration: Sendable {
        let plugin: PluginScenario
        var from: Int?
        var until: Int?
    }

    struct Offer: Sendable {
        let at: Int
        let intake: IntakeMark
        let offered: [SimulationEvent.Offered]
    }

    /// The removal of a source, and what it was a removal of.
    struct Removal: Sendable {
        let number: Int
        let source: Int
        let from: Int
        var intake: IntakeMark?
        var until: Int?
        var isRemoved = false
    }

    struct Taking: Sendable {
        /// When `submit` was called, and when it returned.
        let from: Int
        let at: Int
        let intake: IntakeMark
        let count: Int
    }

    struct Fault: Sendable {
        let at: Int
        let text: String
    }

    struct Ending: Sendable {
        let at: Int
        let report: SupervisorReport
    }

    func passage(_ mark: ArrivalMark) -> Passage? { places[mark].map { passages[$0] } }

    func message(of passage: Passage) -> MessageScenario { scenario.messages[passage.message] }

    func source(of passage: Passage) -> SourceScenario { scenario.sources[passage.mark.source] }

    func plugin(of call: CallRecord) -> PluginScenario { registrations[call.registration].plugin }
}
