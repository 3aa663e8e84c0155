#if WebKitGTK
import CWebKitGTK
import NavigationChain

/// What the library asks about one URL. It is answered exactly once: whoever lets go of it unanswered has refused, while the
/// library would take its own silence for a yes.
@GLibThread
final class PolicyQuestion {
    /// What can be answered.
    enum Answer { case load, refuse, store }

    /// The URL, as the library has it.
    let text: String
    let kind: NavigationKind
    let frame: FrameRole
    /// A `WebKitPolicyDecision`.
    private var decision: ForeignReference?

    /// - Parameter decision: the `WebKitPolicyDecision` that was read, or `nil` where the library has its answer already, as
    ///   for a window that a script opens: that never opens, whatever is answered here.
    init(_ decision: ForeignReference?, _ reading: Reading) {
        self.decision = decision
        text = reading.text
        kind = reading.kind
        frame = reading.frame
        if decision != nil { OpenObjects.add(1, to: \.questions) }
    }

    isolated deinit {
        answer(.refuse)
    }

    /// Answers; nothing happens when it was answered before.
    func answer(_ answer: Answer) {
        guard let decision else { return }
        self.decision = nil
        OpenObjects.add(-1, to: \.questions)
        let object = decision.cast(to: WebKitPolicyDecision.self)
        switch answer {
        case .load: webkit_policy_decision_use(object)
        case .refuse: webkit_policy_decision_ignore(object)
        case .store: webkit_policy_decision_download(object)
        }
    }
}
#endif
