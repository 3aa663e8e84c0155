import SignalboxCore

/// Does nothing and answers each action alike: for trying what a caller makes of an answer.
struct ReplyPlugin: SyncPlugin {
    let action: ActionName
    let value: ReplyValue

    func callAsAction(_ info: RawBody, context: ActionContext) -> ReplyValue {
        value
    }
}
