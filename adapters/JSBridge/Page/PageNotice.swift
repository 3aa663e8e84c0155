import AdapterSupport
import SignalboxCore

/// What the program tells a page about one of its messages.
enum PageNotice: Sendable {
    /// The message is on disk, and its outcome follows.
    case accepted
    case outcome(Outcome)

    /// Whether the page has to know. The sender of a message that stays in the journal knows already that it is accepted.
    var isForPage: Bool {
        if case .outcome(.abandoned(.kept)) = self { false } else { true }
    }
}
