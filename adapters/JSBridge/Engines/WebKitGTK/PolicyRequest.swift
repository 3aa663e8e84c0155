#if WebKitGTK
import CWebKitGTK
import NavigationChain

/// A request from WebKitGTK for a decision on one URL. Each request is answered exactly once. A request that is
/// released without an answer is refused, because WebKitGTK would otherwise load the URL.
@GLibThread
final class PolicyRequest {
    /// An answer to the request.
    enum Answer { case load, refuse }

    /// The URL as reported by WebKitGTK.
    let text: String
    let kind: NavigationKind
    let frame: FrameRole
    /// A `WebKitPolicyDecision`.
    private var decision: ForeignReference?

    /// - Parameter decision: The `WebKitPolicyDecision`, or `nil` if WebKitGTK does not wait for an answer. This is the
    ///   case for a window requested by a script, which never opens regardless of the answer.
    init(_ decision: ForeignReference?, _ reading: Reading) {
        self.decision = decision
        text = reading.text
        kind = reading.kind
        frame = reading.frame
        if decision != nil { OpenObjects.add(1, to: \.policyRequests) }
    }

    isolated deinit {
        answer(.refuse)
    }

    /// Answers the request. This method has no effect if the request has already been answered.
    func answer(_ answer: Answer) {
        guard let decision else { return }
        self.decision = nil
        OpenObjects.add(-1, to: \.policyRequests)
        let object = decision.cast(to: WebKitPolicyDecision.self)
        switch answer {
        case .load: webkit_policy_decision_use(object)
        case .refuse: webkit_policy_decision_ignore(object)
        }
    }
}

extension PolicyRequest {
    /// The contents of a policy decision, as read from WebKitGTK's objects.
    struct Reading: Sendable {
        let text: String
        let kind: NavigationKind
        let frame: FrameRole
        /// Whether no verdict is needed, because the navigation already has one and its content can be shown.
        var isSettled = false

        /// - Returns: `nil` if these headers do not define the type of decision.
        init?(_ decision: UnsafeMutablePointer<WebKitPolicyDecision>, _ type: WebKitPolicyDecisionType) {
            let pointer = UnsafeMutableRawPointer(decision)
            switch type {
            case WEBKIT_POLICY_DECISION_TYPE_NAVIGATION_ACTION, WEBKIT_POLICY_DECISION_TYPE_NEW_WINDOW_ACTION:
                let decision = pointer.assumingMemoryBound(to: WebKitNavigationPolicyDecision.self)
                guard let action = webkit_navigation_policy_decision_get_navigation_action(decision) else { return nil }
                self.init(action, opensWindow: type == WEBKIT_POLICY_DECISION_TYPE_NEW_WINDOW_ACTION)
            case WEBKIT_POLICY_DECISION_TYPE_RESPONSE:
                self.init(response: pointer.assumingMemoryBound(to: WebKitResponsePolicyDecision.self))
            default:
                return nil
            }
        }

        /// - Parameter action: A `WebKitNavigationAction`.
        init(_ action: OpaquePointer, opensWindow: Bool) {
            text = Reading.text(of: webkit_navigation_action_get_request(action))
            // The library does not report the requesting frame, but a page itself never has this URL.
            frame = text == "about:srcdoc" ? .sub : .unknown
            if opensWindow {
                kind = .newWindow
            } else if webkit_navigation_action_is_redirect(action) != 0 {
                kind = .redirect
            } else {
                switch webkit_navigation_action_get_navigation_type(action) {
                case WEBKIT_NAVIGATION_TYPE_LINK_CLICKED: kind = .link
                case WEBKIT_NAVIGATION_TYPE_FORM_SUBMITTED, WEBKIT_NAVIGATION_TYPE_FORM_RESUBMITTED: kind = .form
                case WEBKIT_NAVIGATION_TYPE_RELOAD: kind = .reload
                default: kind = .other
                }
            }
        }

        private init(response decision: UnsafeMutablePointer<WebKitResponsePolicyDecision>) {
            text = Reading.text(of: webkit_response_policy_decision_get_request(decision))
            kind = .download
            frame = webkit_response_policy_decision_is_main_frame_main_resource(decision) != 0 ? .main : .sub
            isSettled =
                webkit_response_policy_decision_is_mime_type_supported(decision) != 0
                && !isAttachment(webkit_response_policy_decision_get_response(decision).flatMap(Reading.disposition))
        }

        private static func disposition(of response: UnsafeMutablePointer<WebKitURIResponse>) -> String? {
            webkit_uri_response_get_http_headers(response)
                .flatMap { soup_message_headers_get_one($0, "Content-Disposition") }
                .map { String(cString: $0) }
        }

        private static func text(of request: UnsafeMutablePointer<WebKitURIRequest>?) -> String {
            guard let request, let text = webkit_uri_request_get_uri(request) else { return "" }
            return String(cString: text)
        }
    }
}
#endif
