import SignalboxCore

/// What a program learns about an action from its environment.
struct ActionVariables {
    /// The variables by name.
    let values: [String: String]

    /// - Parameter bodyKind: What the body on stdin is.
    init(_ context: ActionContext, bodyKind: PayloadKind) {
        let action = context.action
        var facts = JSONObject()
        facts.add("source", context.origin.source.text)
        facts.add(context.origin.facts)
        let text = String(decoding: facts.bytes, as: UTF8.self)
        var values = [
            "SIGNALBOX_ACTION": action.name.text,
            "SIGNALBOX_ID": action.id.text,
            "SIGNALBOX_SOURCE": context.origin.source.text,
            "SIGNALBOX_ORIGIN": text,
            "SIGNALBOX_BODY_KIND": bodyKind.rawValue,
            "SIGNALBOX_RECEIVED_AT": WallTimeText.utc(action.receivedAt),
            "SIGNALBOX_ATTEMPT": "\(context.attempt)",
        ]
        if context.isRedelivered { values["SIGNALBOX_REDELIVERED"] = "1" }
        for (name, value) in context.passedTrace?.members ?? [] { values[name.uppercased()] = value }
        // The system would end a value at a NUL character.
        self.values = values.filter { !$0.value.utf8.contains(0) }
    }
}
