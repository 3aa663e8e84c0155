import SignalboxCore

/// What a function of JavaScript is called with.
enum ScriptArgument {
    case undefined
    case null
    case number(Double)
    case text(String)
    /// Text in UTF-8 without a NUL, such as JSON.
    case utf8(Bytes)
    case value(ScriptValue)
    case object(ScriptObject)
}
