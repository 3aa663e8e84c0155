package import AdapterSupport
package import SignalboxCore

/// The result of a call to a page: the return value as JSON, or `nil` if the listener returned nothing.
package typealias PageAnswer = Result<Bytes?, PageCallError>

/// Tracks the callers that are waiting for a page's answers.
package typealias PageCallers = AnswerTable<Bytes?, PageCallError>

extension PageCallers.Failures {
    /// The errors of calls to a page.
    package static let page = PageCallers.Failures(
        closed: .closed,
        cancelled: .cancelled,
        full: { PageCallError(.full, "\($0) calls are waiting for the page's answers") },
        timeout: { .noAnswer(within: $0) }
    )
}

/// How a page answered a call. The names are those used by bridge.js.
package enum PageAnswerKind: String, Sendable {
    /// The listener returned a value.
    case returned
    /// The listener threw. The detail describes the error.
    case threw
    /// The listener's return value has no JSON form. The detail gives the reason.
    case invalidReply
    /// There is no listener, and the page has no room for another message that has none.
    case full
}

extension PageAnswer {
    /// Creates a call's result from the page's answer.
    ///
    /// - Parameters:
    ///   - kind: The kind that the page sent, or `nil` if it is unknown.
    ///   - value: The return value as JSON, or `nil` if the listener returned nothing.
    ///   - detail: The page's description of an error, which is truncated here.
    ///   - limit: The maximum size of the value, in bytes.
    package init(_ kind: PageAnswerKind?, _ value: Bytes?, detail: @autoclosure () -> String, limit: Int) {
        func error(_ code: PageCallError.Code) -> Self {
            .failure(PageCallError(code, String(detail().prefix(PageCallError.longestDetail))))
        }
        switch kind {
        case .returned where value.map({ $0.count > limit }) ?? false:
            self = .failure(PageCallError(.invalidReply, "the answer has more than \(limit) bytes"))
        case .returned: self = .success(value)
        case .threw: self = error(.threw)
        case .full: self = error(.full)
        case .invalidReply, nil: self = error(.invalidReply)
        }
    }
}
