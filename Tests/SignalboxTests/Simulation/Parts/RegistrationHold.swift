/// What a simulated plugin holds for as long as somebody holds the plugin.
final class RegistrationHold: Sendable {
    let number: Int

    init(number: Int) { self.number = number }
}

/// Finds a hold, without keeping it.
struct WeakHold {
    weak var hold: RegistrationHold?
}
