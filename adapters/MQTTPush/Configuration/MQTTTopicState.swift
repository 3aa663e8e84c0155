/// What became of a topic that was added or removed while a source may be running.
public enum MQTTTopicState: Sendable, Hashable {
    /// The broker has answered.
    case done
    /// There is no connection, or it ended before the answer: it is done with the next one.
    case remembered
}
