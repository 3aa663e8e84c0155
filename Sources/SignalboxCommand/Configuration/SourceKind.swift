/// What a source is: the key below its name.
enum SourceKind: Sendable {
    /// Topics of a broker.
    case mqtt(MQTTSection)
    /// A page without a window.
    case script(ScriptSection)
}
