import SignalboxCore

/// What is known about an action that the program itself sent: nothing but that.
struct InternalFacts: OriginFacts {
    static let kind = "internal"
}
