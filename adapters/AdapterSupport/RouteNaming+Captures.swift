package import SignalboxCore

extension RouteNaming {
    /// Reads the captures of a route. `{action}` names the action and `{id}` is the id; the others become members.
    ///
    /// - Parameters:
    ///   - captures: The captures, with unique names.
    ///   - action: The route's own action, if any; a capture takes precedence.
    ///   - noun: The noun for what was matched in descriptions of errors, such as `topic`.
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
