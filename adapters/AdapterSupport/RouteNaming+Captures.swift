package import SignalboxCore

extension RouteNaming {
    /// Reads the captures of a route. The capture `{action}` names the action, `{id}` is the id, and the others become
    /// members of the body.
    ///
    /// - Parameters:
    ///   - captures: The captures, with unique names.
    ///   - action: The action of the route itself, if it has one. The capture `{action}` takes precedence over it.
    ///   - noun: The noun for the matched text in descriptions of errors, such as `topic`.
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
