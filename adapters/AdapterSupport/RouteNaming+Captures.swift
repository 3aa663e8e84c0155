package import SignalboxCore

extension RouteNaming {
    /// Interprets a route's captures. The capture `{action}` names the action, `{id}` is the id, and all other captures
    /// become members of the body.
    ///
    /// - Parameters:
    ///   - captures: The captures, with unique names.
    ///   - action: The action given by the route itself, if any. The capture `{action}` takes precedence.
    ///   - noun: The noun for the matched text in error descriptions, such as `topic`.
    /// - Throws: The rejection `malformed` if the action or id is invalid.
    package init(_ captures: [Capture], action: ActionName?, of noun: String) throws(Outcome.Rejection) {
        var action = action
        var id: ActionID?
        var members: [Capture] = []
        for capture in captures {
            switch capture.name {
            case "action":
                do throws(NameError) {
                    action = try ActionName(capture.value)
                } catch {
                    let detail = "the \(noun)'s {action} is not an action name: \(error)"
                    throw Outcome.Rejection(.malformed, detail: detail)
                }
            case "id":
                id = ActionID(capture.value)
                guard id != nil else {
                    let detail = "the \(noun)'s {id} must have 1 to \(ActionID.maximumLength) bytes"
                    throw Outcome.Rejection(.malformed, detail: detail)
                }
            default: members.append(capture)
            }
        }
        self.init(action: action, id: id, captures: members)
    }
}
