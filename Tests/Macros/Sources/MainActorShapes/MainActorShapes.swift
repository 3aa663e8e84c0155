public import SignalboxCore

// This module has main actor isolation by default. It compiles only if the macro's initializers belong to no actor.

/// A struct with a nested one, as a module of an application has them.
@ActionBody
public struct Payment: Sendable {
    let amount: Int
    var goods: [Item]

    @ActionBody
    struct Item {
        var name = "none"
    }
}

/// Decodes a payment on any thread, as a plugin does, and returns its amount.
nonisolated public func amount(of body: Body) throws(BodyError) -> Int {
    try body.decode(Payment.self).amount
}
